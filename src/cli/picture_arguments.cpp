#include "cli/picture_arguments.h"

#include <cstdio>
#include <filesystem>

#include "core/error.h"

namespace tessera::cli {

namespace fs = std::filesystem;

void PictureArguments::declare(Arguments& parser) {
    parser.option("--image FILE", paths,
                  "a PNG, JPEG, WebP or GIF file that the prompt is about; may be repeated (default: none)");
    parser.option("--draw FILE", draw,
                  "draw the boxes of the answer onto a copy of the picture, as PNG or JPEG, e.g. out.png (default: none)");
}

std::vector<formats::Image> PictureArguments::read() const {
    check(draw.empty() || !paths.empty(), "--draw: there is no picture to draw on; --image names one");
    const fs::path folder = fs::path(draw).parent_path();
    std::error_code error;
    if (!draw.empty()) formats::check_image_name(draw);
    check(folder.empty() || fs::is_directory(folder, error), "--draw: ", draw, ": there is no folder ",
          folder.string());
    check(draw.empty() || !fs::is_directory(draw, error), "--draw: ", draw, ": is a folder");
    std::vector<formats::Image> pictures;
    for (const std::string& path : paths) pictures.push_back(formats::read_image(path));
    return pictures;
}

void PictureArguments::draw_boxes(const std::vector<formats::Image>& pictures,
                                  const std::vector<data::Detection>& boxes) const {
    if (draw.empty()) return;
    formats::Image copy = pictures.front();
    data::draw(copy, boxes);
    formats::write_image(draw, copy);
    std::fprintf(stderr, "%s: %zu %s\n", draw.c_str(), boxes.size(), boxes.size() == 1 ? "box" : "boxes");
}

}  // namespace tessera::cli
