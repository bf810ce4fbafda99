// Questions about a scene and their exact answers, in the forms that PaliGemma was trained on (Beyer et al. 2024):
//
//     caption en                              a dog left of a red square · two dogs and a cup · a bee, a key and a bus
//     answer en how many dogs are there?      2
//     answer en what is left of the cup?      dog
//     detect dog ; cup                        <loc0123><loc0040><loc0800><loc0500> dog ; <loc… cup
//     detect all                              the same of everything but texts, from left to right
//     ocr                                     the text
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tessera/data/detections.h"
#include "tessera/data/random_sequence.h"

namespace tessera::scenes {

struct SceneObject {
    enum class Kind : std::uint8_t { Object, Shape, Text };
    Kind kind = Kind::Object;
    std::string name = {};          // "dog", "red circle", or the text itself
    std::string group = {};         // "dog", "circle": what it is counted under, too
    data::Detection::Box box = {};  // in pixels, right and bottom one past the last
};

struct SceneQuestion {
    std::string prefix = {}, suffix = {};
};

// Each gives nothing where the image leaves the answer open: two things side by side and yet one above the other,
// say.
std::optional<SceneQuestion> ask_caption(std::span<const SceneObject> objects, std::int64_t size);
std::optional<SceneQuestion> ask_where(std::span<const SceneObject> objects, std::int64_t size,
                                       data::RandomSequence& draws);
// How many have this name, or are of this group.
SceneQuestion ask_count(std::span<const SceneObject> objects, const std::string& name);
// The names in the order they are given, each thing of a name from left to right.
SceneQuestion ask_detect(std::span<const SceneObject> objects, std::span<const std::string> names, std::int64_t size);
SceneQuestion ask_detect_all(std::span<const SceneObject> objects, std::int64_t size);
SceneQuestion ask_ocr(std::span<const SceneObject> objects);

std::int64_t location_of(std::int64_t pixel, std::int64_t size);  // as <locNNNN> says it

}  // namespace tessera::scenes
