// Frames and labels on an image: lines as thick, and letters as large, as its size asks for.
#include <algorithm>

#include "tessera/data/bitmap_font.h"
#include "tessera/data/detections.h"

namespace tessera::data {
namespace {

using formats::Image;
using Colour = std::array<std::uint8_t, 3>;
using Box = Detection::Box;

constexpr Colour colours[] = {{230, 25, 75},  {60, 180, 75}, {0, 130, 200},  {245, 130, 48},
                              {145, 30, 180}, {0, 128, 128}, {170, 110, 40}, {240, 50, 230}};

// From left and top up to, not including, right and bottom; what lies outside of the image is left out.
void fill(Image& image, const Box& box, const Colour& colour) {
    const std::int64_t left = std::max<std::int64_t>(box.left, 0), right = std::min(box.right, image.width);
    const std::int64_t top = std::max<std::int64_t>(box.top, 0), bottom = std::min(box.bottom, image.height);
    for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) std::copy_n(colour.data(), 3, image.row(y) + x * 3);
}

void frame(Image& image, const Box& box, std::int64_t thick, const Colour& colour) {
    fill(image, {box.left, box.top, box.right, box.top + thick}, colour);
    fill(image, {box.left, box.bottom - thick, box.right, box.bottom}, colour);
    fill(image, {box.left, box.top, box.left + thick, box.bottom}, colour);
    fill(image, {box.right - thick, box.top, box.right, box.bottom}, colour);
}

}  // namespace

void draw(Image& image, std::span<const Detection> detections) {
    const std::int64_t scale = std::max<std::int64_t>(1, (std::min(image.width, image.height) + 125) / 250);
    const std::int64_t thick = scale + 1;
    std::vector<std::string> labels;
    for (const Detection& detection : detections) {
        auto known = std::find(labels.begin(), labels.end(), detection.label);
        if (known == labels.end()) known = labels.insert(labels.end(), detection.label);
        const Colour& colour = colours[static_cast<std::size_t>(known - labels.begin()) % std::size(colours)];
        const Box box = detection.box(image.width, image.height);
        frame(image, box, thick, colour);
        if (detection.label.empty()) continue;
        const std::int64_t height = (glyph_height + 2) * scale;
        const std::int64_t width = label_width(detection.label, scale) + scale;
        const std::int64_t top = box.top >= height ? box.top - height : box.top;  // above the box if there is room
        const std::int64_t left = std::max<std::int64_t>(0, std::min(box.left, image.width - width));
        fill(image, {left, top, left + width, top + height}, colour);
        write_label(image, detection.label, {left + scale, top + scale, scale});
    }
}

}  // namespace tessera::data
