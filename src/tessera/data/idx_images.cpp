// idx files (LeCun's, of MNIST): two zero bytes, the type of the values, the number of dimensions, each dimension as
// a big-endian u32, then the values. Images are unsigned bytes (count, height, width); their labels stand in a file
// of one dimension beside them: train-images-idx3-ubyte has train-labels-idx1-ubyte.
#include <fstream>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/data/labelled_images.h"

namespace tessera::data {
namespace {

constexpr unsigned char unsigned_bytes = 8;
constexpr std::int64_t longest_side = 4096;

class IdxFile {
   public:
    IdxFile(const std::string& path, int dimensions) : file_(path), path_(path) {
        const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
        check(file_.bytes() < 2 || byte(0) != 0x1f || byte(1) != 0x8b, path, ": is compressed; unpack it with gunzip");
        check(file_.bytes() >= 4, path, ": ", file_.bytes(), " bytes are too few for an idx file");
        check(byte(0) == 0 && byte(1) == 0 && byte(2) == unsigned_bytes, path,
              ": is no idx file of unsigned bytes (its first bytes are ", int{byte(0)}, " ", int{byte(1)}, " ",
              int{byte(2)}, ")");
        check(byte(3) == dimensions, path, ": expected ", dimensions, " dimensions, found ", int{byte(3)});
        check(file_.bytes() >= header, path, ": ", file_.bytes(), " bytes are too few for an idx file");
        for (int i = 0; i < dimensions; ++i) sizes_.push_back(number(4 + 4 * static_cast<std::size_t>(i)));
        for (std::size_t i = 1; i < sizes_.size(); ++i)
            check(sizes_[i] > 0 && sizes_[i] <= longest_side, path, ": dimension ", i + 1, " is ", sizes_[i],
                  "; expected 1 to ", longest_side);
        std::int64_t values = 1;
        for (const std::int64_t size : sizes_) values *= size;  // below 2^32 · 2^24
        check(values > 0 && file_.bytes() == header + static_cast<std::size_t>(values), path, ": the header speaks of ",
              values, " values, and ", file_.bytes() - header, " follow");
        values_ = reinterpret_cast<const unsigned char*>(file_.data()) + header;
    }

    std::int64_t size(std::size_t dimension) const { return sizes_[dimension]; }
    const unsigned char* values() const { return values_; }
    const std::string& path() const { return path_; }

   private:
    unsigned char byte(std::size_t at) const { return std::to_integer<unsigned char>(file_.data()[at]); }
    std::int64_t number(std::size_t at) const {
        return std::int64_t{byte(at)} << 24 | std::int64_t{byte(at + 1)} << 16 | std::int64_t{byte(at + 2)} << 8 |
               std::int64_t{byte(at + 3)};
    }

    MappedFile file_;
    std::string path_;
    std::vector<std::int64_t> sizes_;
    const unsigned char* values_ = nullptr;
};

// The last "images-idx3" or "images.idx3" of the name becomes that of the labels.
std::string labels_of(const std::string& images) {
    std::string labels = images;
    const std::size_t name = labels.rfind('/') + 1;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"images", "labels"}, {"idx3", "idx1"}}) {
        const std::size_t at = labels.find(from, name);
        if (at != labels.npos) labels.replace(at, from.size(), to);
    }
    check(labels != images, images, ": the name does not say where the labels are; expected NAME-images-idx3-ubyte");
    return labels;
}

class IdxImages final : public LabelledImages {
   public:
    IdxImages(const std::string& file, bool with_labels) : images_(file, 3) {
        if (!with_labels) return;
        labels_ = std::make_unique<IdxFile>(labels_of(file), 1);
        check(labels_->size(0) == images_.size(0), labels_->path(), ": ", labels_->size(0), " labels for ",
              images_.size(0), " images");
    }

    std::int64_t size() const override { return images_.size(0); }
    formats::Image image(std::int64_t index) const override {
        formats::Image image(images_.size(2), images_.size(1));
        const std::int64_t pixels = image.width * image.height;
        const unsigned char* from = images_.values() + index * pixels;
        for (std::int64_t i = 0; i < pixels; ++i)
            for (std::int64_t channel = 0; channel < 3; ++channel)
                image.pixels[static_cast<std::size_t>(3 * i + channel)] = from[i];
        return image;
    }
    std::int64_t label(std::int64_t index) const override { return labels_ ? labels_->values()[index] : -1; }
    std::string where(std::int64_t index) const override { return text_of(images_.path(), ": image ", index); }

   private:
    IdxFile images_;
    std::unique_ptr<IdxFile> labels_;
};

}  // namespace

bool is_idx_file(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    char head[4] = {1, 1, 1, 1};
    stream.read(head, sizeof head);
    const bool compressed = file.find("idx") != file.npos && head[0] == '\x1f' && head[1] == '\x8b';
    return compressed || (head[0] == 0 && head[1] == 0 && head[2] >= unsigned_bytes && head[2] <= 14);
}

std::unique_ptr<LabelledImages> open_idx_images(const std::string& file, const ImageSource& source) {
    return std::make_unique<IdxImages>(file, source.with_labels);
}

}  // namespace tessera::data
