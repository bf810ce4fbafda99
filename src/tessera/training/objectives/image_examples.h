// Images with a prefix and a suffix each: what a model is asked and what it is to say. Either JSON lines {"image":
// path, "prefix": …, "suffix": …}, or a scene set (`.scenes.json`), which is made as it is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"

namespace tessera::training {

struct ImageExample {
    formats::Image image = {};
    std::string prefix = {}, suffix = {};
};

class ImageExamples {
   public:
    virtual ~ImageExamples() = default;
    virtual std::int64_t size() const = 0;
    virtual ImageExample at(std::int64_t index) const = 0;                   // from any thread
    virtual std::string where(std::int64_t index) const = 0;                 // for errors
    virtual std::vector<std::filesystem::path> files() const { return {}; }  // one for each image that is a file
};

// All of a list one after another: files, or folders of JSON lines.
std::unique_ptr<ImageExamples> open_image_examples(const std::vector<std::string>& files_and_folders);

}  // namespace tessera::training
