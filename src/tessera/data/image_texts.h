// Images with texts: JSON lines {"image": path, …}, the path from the line's own folder, and texts under names that
// the reader is told.
#pragma once

#include "tessera/data/lines.h"
#include "tessera/formats/image/image.h"

namespace tessera::data {

class ImageTexts {
   public:
    // Every line is looked at once: one that lacks a text, or whose image is not there, is an error.
    ImageTexts(const std::vector<std::filesystem::path>& files, std::vector<std::string> fields);

    std::int64_t size() const { return lines_.size(); }
    struct Example {
        std::filesystem::path image;
        std::vector<std::string> texts;  // in the order of the fields
    };
    Example at(std::int64_t index) const;
    std::vector<std::filesystem::path> images() const;  // one for each line
    std::string where(std::int64_t index) const { return lines_.where(index); }

   private:
    Lines lines_;
    std::vector<std::string> fields_;
};

}  // namespace tessera::data
