// Images with a class each, from a folder with one folder per class, idx files (MNIST's) or CIFAR-10's binary files.
// Files are mapped and images made when asked for: a set of any size takes little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"

namespace tessera::data {

class LabelledImages {
   public:
    virtual ~LabelledImages() = default;
    virtual std::int64_t size() const = 0;
    virtual formats::Image image(std::int64_t index) const = 0;
    virtual std::int64_t label(std::int64_t index) const = 0;                // −1 where labels were not asked for
    virtual std::string where(std::int64_t index) const = 0;                 // for errors
    virtual std::vector<std::filesystem::path> files() const { return {}; }  // one for each image, where they are files
};

struct ImageSource {
    bool with_labels = true;
    std::vector<std::string> classes = {};  // of folders, in the order of their numbers
};

// All of a list one after another; each is told by what it is. What is none of the three is an error.
std::unique_ptr<LabelledImages> open_images(const std::vector<std::string>& files_and_folders,
                                            const ImageSource& source);

// What the classes of a list are called: the names of the folders, sorted, or "0", "1", … as far as the labels go. A
// folder without an image is an error: it would count as a class.
std::vector<std::string> image_classes(const std::vector<std::string>& files_and_folders);

// The three kinds.
std::unique_ptr<LabelledImages> open_image_folder(const std::string& folder, const ImageSource& source);
std::unique_ptr<LabelledImages> open_idx_images(const std::string& file, const ImageSource& source);
std::unique_ptr<LabelledImages> open_cifar_images(const std::string& file);

bool is_idx_file(const std::string& file);

}  // namespace tessera::data
