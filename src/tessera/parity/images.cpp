// An image read from its files, resized, and prepared as a model sees it.
#include <cmath>

#include "tessera/data/image_processor.h"
#include "tessera/formats/find_file.h"
#include "tessera/parity/comparison.h"

namespace tessera::parity {
namespace {

using formats::Image;

// How many levels the worst pixel is off; one is rounding.
void compare_levels(const Case& run, const std::string& name, const Image& ours) {
    const Tensor& theirs = run.tensor(name, Values::Levels, {any, any, 3});
    Quantity quantity{.name = name, .tolerance = 1};
    if (theirs.shape() != Shape{ours.height, ours.width, 3}) {
        quantity.error = INFINITY;
        quantity.note = text_of(ours.width, " × ", ours.height, " pixels, expected ", theirs.shape());
    } else {
        const std::vector<std::uint8_t> levels = theirs.to_vector<std::uint8_t>();
        for (std::size_t i = 0; i < levels.size(); ++i)
            quantity.error = std::max(quantity.error, std::abs(static_cast<double>(levels[i]) - ours.pixels[i]));
        quantity.note = "levels";
    }
    run.quantities.push_back(quantity);
}

// A JPEG of the same image has lost something, most of it in the colours, which it keeps at half the size: how many
// levels the brightness is off on average.
void compare_brightness(const Case& run, const std::string& name, const Image& ours) {
    const Tensor& rgb = run.tensor("rgb", Values::Levels, {any, any, 3});
    const std::vector<double> theirs = rgb.to_vector<double>();
    Quantity quantity{.name = name, .error = INFINITY, .tolerance = 3, .note = "levels of brightness on average"};
    if (rgb.shape() == Shape{ours.height, ours.width, 3}) {
        double sum = 0;
        for (std::size_t i = 0; i < theirs.size(); i += 3)
            sum += std::abs(0.299 * (theirs[i] - ours.pixels[i]) + 0.587 * (theirs[i + 1] - ours.pixels[i + 1]) +
                            0.114 * (theirs[i + 2] - ours.pixels[i + 2]));
        quantity.error = sum / static_cast<double>(theirs.size() / 3);
    }
    run.quantities.push_back(quantity);
}

Image image_of(const Case& run, const char* name) {
    const std::filesystem::path file = formats::find_file(run.folder, name);
    check(!file.empty(), run.folder.string(), ": no ", name, " in this folder");
    return formats::read_image(file);
}

}  // namespace

void check_images(const Case& run) {
    const Image image = image_of(run, "picture.png");
    compare_levels(run, "rgb", image);
    using formats::Resampling;
    compare_levels(run, "bicubic_224", formats::resize(image, 224, 224, Resampling::Bicubic));
    compare_levels(run, "bicubic_32", formats::resize(image, 32, 32, Resampling::Bicubic));
    compare_levels(run, "bilinear_224", formats::resize(image, 224, 224, Resampling::Bilinear));
    compare_levels(run, "bilinear_32", formats::resize(image, 32, 32, Resampling::Bilinear));
    for (const auto& [name, tensor] : run.expected.tensors)  // as a model sees it, under that model's name
        if (tensor.rank() == 4) run.compare(name, data::pixel_values({&image, 1}, {}), forward_tolerance);
    compare_brightness(run, "picture.jpg", image_of(run, "picture.jpg"));
}

}  // namespace tessera::parity
