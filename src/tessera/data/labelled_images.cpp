#include "tessera/data/labelled_images.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tessera/core/error.h"
#include "tessera/data/image_files.h"
#include "tessera/formats/find_file.h"
#include "tessera/text/utf8.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;

// Several sets end to end.
class Joined final : public LabelledImages {
   public:
    explicit Joined(std::vector<std::unique_ptr<LabelledImages>> sets) : sets_(std::move(sets)) {
        for (const auto& set : sets_) ends_.push_back(size() + set->size());
    }
    std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
    formats::Image image(std::int64_t index) const override {
        const auto [set, own] = find(index);
        return set->image(own);
    }
    std::int64_t label(std::int64_t index) const override {
        const auto [set, own] = find(index);
        return set->label(own);
    }
    std::string where(std::int64_t index) const override {
        const auto [set, own] = find(index);
        return set->where(own);
    }

    std::vector<fs::path> files() const override {
        std::vector<fs::path> all;
        for (const auto& set : sets_)
            for (fs::path& file : set->files()) all.push_back(std::move(file));
        return all;
    }

   private:
    std::pair<const LabelledImages*, std::int64_t> find(std::int64_t index) const {
        const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
        const auto set = static_cast<std::size_t>(end - ends_.begin());
        return {sets_[set].get(), index - (set == 0 ? 0 : ends_[set - 1])};
    }

    std::vector<std::unique_ptr<LabelledImages>> sets_;
    std::vector<std::int64_t> ends_;
};

std::unique_ptr<LabelledImages> open_one(const std::string& name, const ImageSource& source) {
    std::error_code error;
    formats::check_exists(name);
    if (fs::is_directory(name, error)) return open_image_folder(name, source);
    if (is_idx_file(name)) return open_idx_images(name, source);
    check(fs::path(name).extension() == ".bin", name,
          ": expected a folder with one folder per class, an idx file, or a CIFAR-10 file (.bin)");
    return open_cifar_images(name);
}

}  // namespace

std::unique_ptr<LabelledImages> open_images(const std::vector<std::string>& files_and_folders,
                                            const ImageSource& source) {
    check(!files_and_folders.empty(), "no images given");
    std::vector<std::unique_ptr<LabelledImages>> sets;
    for (const std::string& name : files_and_folders) sets.push_back(open_one(name, source));
    return sets.size() == 1 ? std::move(sets[0]) : std::make_unique<Joined>(std::move(sets));
}

std::vector<std::string> image_classes(const std::vector<std::string>& files_and_folders) {
    std::set<std::string> folders;
    std::map<std::string, fs::path> empty;  // until another folder of the name has an image
    std::int64_t highest = -1;
    for (const std::string& name : files_and_folders) {
        std::error_code error;
        formats::check_exists(name);
        if (fs::is_directory(name, error)) {
            for (const fs::path& folder : formats::folders_in(name)) {
                const std::vector<fs::path> files = formats::files_below(folder);
                if (std::any_of(files.begin(), files.end(), is_image_file))
                    folders.insert(folder.filename().string());
                else
                    empty.emplace(folder.filename().string(), folder);
            }
            continue;
        }
        const auto set = open_one(name, {});
        for (std::int64_t i = 0; i < set->size(); ++i) highest = std::max(highest, set->label(i));
    }
    for (const auto& [name, folder] : empty)
        check(folders.contains(name), folder.string(),
              ": no PNG, JPEG, WebP or GIF file in it, and it would count as a class; fill it or take it away");
    check(folders.empty() || highest < 0,
          "folders of images have names for classes, other files have numbers: they "
          "cannot be one set");
    std::vector<std::string> names(folders.begin(), folders.end());
    for (const std::string& name : names)  // they will stand in config.json
        check(text::is_valid_utf8(name), files_and_folders.front(), ": the folder '", text::repaired_utf8(name),
              "' has a name that is not UTF-8");
    for (std::int64_t i = 0; i <= highest; ++i) names.push_back(std::to_string(i));
    return names;
}

}  // namespace tessera::data
