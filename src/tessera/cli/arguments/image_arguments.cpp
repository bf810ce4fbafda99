#include "tessera/cli/arguments/image_arguments.h"

#include <fmt/format.h>

#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"

namespace tessera::cli {

void ImageArguments::declare(Arguments& parser) {
    parser.option("--image FILE", paths,
                  "a PNG, JPEG, WebP or GIF file that the prompt is about; may be repeated (default: none)");
    parser.option(
        "--draw FILE", draw,
        "draw the boxes of the answer onto a copy of the image, as PNG or JPEG, e.g. out.png (default: none)");
    parser.flag("--overwrite", overwrite, "let --draw replace a file that is there");
}

std::vector<formats::Image> ImageArguments::read() const {
    check(draw.empty() || !paths.empty(), "--draw: there is no image to draw on; --image names one");
    check(!overwrite || !draw.empty(), "--overwrite: there is no --draw that it could be for");
    if (!draw.empty()) try {
            check_output_file(draw, formats::image_signature(draw), {paths.begin(), paths.end()},
                              {.overwrite = overwrite});
        } catch (const Error& error) {
            fail("--draw: ", error.what());
        }
    std::vector<formats::Image> images;
    for (const std::string& path : paths) images.push_back(formats::read_image(path));
    return images;
}

void ImageArguments::draw_boxes(const std::vector<formats::Image>& images,
                                const std::vector<data::Detection>& boxes) const {
    if (draw.empty()) return;
    formats::Image copy = images.front();
    data::draw(copy, boxes);
    formats::write_image(draw, copy);
    fmt::print(stderr, "{}: {} {}\n", one_line(draw), boxes.size(), boxes.size() == 1 ? "box" : "boxes");
}

}  // namespace tessera::cli
