// The English of scenes: what things are called, one and several of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::scenes {

std::vector<std::string> default_objects();
// What the images that show an object are called; the object's own name where it is none of the default ones.
std::vector<std::string> image_names(const std::string& object, bool is_clip_art);

bool is_shape_word(std::string_view word);  // "circle", …

std::string plural_of(const std::string& name);     // "dogs", "red boxes", "cherries", "fish"
std::string with_article(const std::string& name);  // "a dog", "an apple"

}  // namespace tessera::scenes
