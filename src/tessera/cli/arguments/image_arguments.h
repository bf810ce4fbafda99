// The arguments for images beside a prompt, and what is done with the boxes in an answer about them.
#pragma once

#include <string>
#include <vector>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/data/detections.h"

namespace tessera::cli {

struct ImageArguments {
    std::vector<std::string> paths = {};
    std::string draw = {};
    bool overwrite = false;

    void declare(Arguments& parser);
    // Reads them, and refuses what --draw could not write to, before anything slow begins.
    std::vector<formats::Image> read() const;
    // A copy of the first image with these boxes, if that was asked for.
    void draw_boxes(const std::vector<formats::Image>& images, const std::vector<data::Detection>& boxes) const;
};

}  // namespace tessera::cli
