// Many images on one, with texts under each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"

namespace tessera::scenes {

struct SheetEntry {
    formats::Image image = {};
    std::string question = {}, answer = {};  // boxes in the answer (data/detections.h) are drawn onto the image
};

formats::Image contact_sheet(std::span<const SheetEntry> entries, std::int64_t columns);

}  // namespace tessera::scenes
