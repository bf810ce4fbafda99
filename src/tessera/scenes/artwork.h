// The images that scenes are put together from: emoji and clip art by the names of what they show, and shapes, each
// decoded once and kept at every size that scenes use.
//
//     PARTS/emoji/STYLE.jsonl            {"image": path from the file's folder, "text": name}, one a line
//     PARTS/clip-art/clip-art.jsonl      the same, for the style clip-art
#pragma once

#include <string>
#include <vector>

#include "tessera/scenes/scene_settings.h"
#include "tessera/scenes/shapes.h"

namespace tessera::scenes {

struct SceneImage {
    std::vector<Sprite> sizes = {};  // from small to large
    Colour mean = {};
};

struct SceneSubject {
    std::string name = {};
    std::vector<std::vector<SceneImage>> styles = {};  // none is empty
};

// The longer sides of what is shown in images of this size, from small to large.
std::vector<std::int64_t> scene_sides(std::int64_t image_size);

// An object that no style shows is an error.
std::vector<SceneSubject> load_subjects(const SceneSettings& settings);

}  // namespace tessera::scenes
