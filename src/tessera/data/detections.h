// Boxes in a model's words: `<locNNNN>` four times (top, left, bottom, right in 1024ths of the image), perhaps
// `<segNNN>` sixteen times (codes of a mask within the box), then a label; several are separated by `;`.
//
//     <loc0123><loc0256><loc0789><loc1023> cat ; <loc0000>…
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera::data {

constexpr int locations_per_side = 1024;

struct Detection {
    std::string label = {};
    std::array<int, 4> locations = {};  // top, left, bottom, right, as the model said them
    std::vector<int> segment = {};      // 16 codes, or none

    // In pixels of an image of this size, the smaller edge first.
    struct Box {
        std::int64_t left, top, right, bottom;
    };
    Box box(std::int64_t width, std::int64_t height) const;
};

// Text that is no whole box is passed over.
std::vector<Detection> read_detections(std::string_view text);

// A list of {label, left, top, right, bottom (pixels), locations, segment}.
formats::Json to_json(std::span<const Detection> detections, std::int64_t width, std::int64_t height);

// Frames with their labels onto the image; each label has its colour.
void draw(formats::Image& image, std::span<const Detection> detections);

}  // namespace tessera::data
