// A folder with one folder per class, images in each.
#include <algorithm>
#include <filesystem>

#include "tessera/core/error.h"
#include "tessera/data/image_files.h"
#include "tessera/data/labelled_images.h"
#include "tessera/formats/find_file.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;

class ImageFolder final : public LabelledImages {
   public:
    ImageFolder(const std::string& folder, const ImageSource& source) {
        if (!source.with_labels) {
            add(folder, -1);
        } else {
            const std::vector<fs::path> classes = formats::folders_in(folder);
            check(!classes.empty(), folder, ": no folders in it; images stand in one folder per class");
            for (const fs::path& path : classes) add(path, class_of(path, source.classes));
        }
        check(!files_.empty(), folder, ": no PNG, JPEG, WebP or GIF file in it");
    }

    std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
    formats::Image image(std::int64_t index) const override { return formats::read_image(at(index).path); }
    std::int64_t label(std::int64_t index) const override { return at(index).label; }
    std::string where(std::int64_t index) const override { return at(index).path.string(); }

    std::vector<fs::path> files() const override {
        std::vector<fs::path> all;
        for (const File& file : files_) all.push_back(file.path);
        return all;
    }

   private:
    struct File {
        fs::path path;
        std::int64_t label;
    };
    const File& at(std::int64_t index) const { return files_[static_cast<std::size_t>(index)]; }

    static std::int64_t class_of(const fs::path& folder, const std::vector<std::string>& classes) {
        const auto found = std::find(classes.begin(), classes.end(), folder.filename().string());
        check(found != classes.end(), folder.string(), ": no class is called '", folder.filename().string(),
              "'; there are ", classes.size(), " classes");
        return found - classes.begin();
    }

    void add(const fs::path& folder, std::int64_t label) {
        for (const fs::path& path : formats::files_below(folder))
            if (is_image_file(path)) files_.push_back({path, label});
    }

    std::vector<File> files_;
};

}  // namespace

std::unique_ptr<LabelledImages> open_image_folder(const std::string& folder, const ImageSource& source) {
    return std::make_unique<ImageFolder>(folder, source);
}

}  // namespace tessera::data
