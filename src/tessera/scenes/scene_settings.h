// A scene set in a file ending in `.scenes.json`: what its images are made of and what is asked about them.
//
//     {"size": 112, "pictures": 200000, "seed": 1, "styles": ["google", "twitter"], "fonts": "train",
//      "tasks": {"caption": 1, "count": 1, "where": 1, "detect": 1, "ocr": 1}, "objects": ["dog", "cup"]}
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/formats/config.h"

namespace tessera::scenes {

enum class SceneTask : std::uint8_t { Caption, Count, Where, Detect, Ocr, DetectAll };
constexpr std::size_t scene_tasks = 6;
constexpr std::array<const char*, scene_tasks> scene_task_names = {"caption", "count", "where",
                                                                   "detect",  "ocr",   "detect-all"};
constexpr bool tells_boxes(SceneTask task) { return task == SceneTask::Detect || task == SceneTask::DetectAll; }

constexpr std::int64_t most_scene_things = 5;

struct SceneSettings {
    std::string source = {};
    std::int64_t size = 112, images = 0;
    std::uint64_t seed = 0;
    std::string parts = {};                              // the folder that holds emoji/, clip-art/ and perhaps fonts/
    std::vector<std::string> styles = {};                // of emoji, or clip-art
    std::vector<std::string> fonts = {};                 // names of files
    std::vector<std::string> objects = {};               // what emoji and clip art show
    std::int64_t most = most_scene_things;               // so many things in a scene at most
    bool shapes = true;                                  // circles, squares, … in colours
    std::array<std::int64_t, scene_tasks> weights = {};  // how often each task comes
};

// A key that is not known, or a value that makes no sense, is an error with file and field.
SceneSettings read_scene_settings(const formats::Config& file);

bool is_scenes_file(const std::filesystem::path& file);

}  // namespace tessera::scenes
