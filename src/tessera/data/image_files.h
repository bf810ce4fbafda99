// The image files of a data set: which they are, and whether they can be opened.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace tessera::data {

using OnProgress = std::function<void(double done, double total)>;

bool is_image_file(const std::filesystem::path& file);  // by its ending

// Throws for the first that cannot be opened, so that a broken one is found before training and not after hours of it.
// Of each no more is read than its header and its end, and the whole where these are in doubt.
void check_image_files(std::vector<std::filesystem::path> files, const OnProgress& on_progress = {});

}  // namespace tessera::data
