// CIFAR-10's binary files (Krizhevsky 2009): records of one byte for the class and 3072 for the image, all of its red
// values (32 rows of 32), then the green, then the blue.
#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/data/labelled_images.h"

namespace tessera::data {
namespace {

constexpr std::int64_t side = 32, plane = side * side, record = 1 + 3 * plane, classes = 10;

class CifarImages final : public LabelledImages {
   public:
    explicit CifarImages(const std::string& path) : file_(path), path_(path) {
        const auto bytes = static_cast<std::int64_t>(file_.bytes());
        check(bytes > 0 && bytes % record == 0, path, ": ", bytes, " bytes are no whole number of CIFAR-10 records of ",
              record);
        for (std::int64_t i = 0; i < size(); ++i)
            check(label(i) < classes, path, ": record ", i, " has class ", label(i), "; CIFAR-10 has ", classes);
    }

    std::int64_t size() const override { return static_cast<std::int64_t>(file_.bytes()) / record; }
    formats::Image image(std::int64_t index) const override {
        formats::Image image(side, side);
        const unsigned char* from = bytes() + index * record + 1;
        for (std::int64_t i = 0; i < plane; ++i)
            for (std::int64_t channel = 0; channel < 3; ++channel)
                image.pixels[static_cast<std::size_t>(3 * i + channel)] = from[channel * plane + i];
        return image;
    }
    std::int64_t label(std::int64_t index) const override { return bytes()[index * record]; }
    std::string where(std::int64_t index) const override { return text_of(path_, ": record ", index); }

   private:
    const unsigned char* bytes() const { return reinterpret_cast<const unsigned char*>(file_.data()); }

    MappedFile file_;
    std::string path_;
};

}  // namespace

std::unique_ptr<LabelledImages> open_cifar_images(const std::string& file) {
    return std::make_unique<CifarImages>(file);
}

}  // namespace tessera::data
