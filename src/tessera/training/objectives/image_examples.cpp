#include "tessera/training/objectives/image_examples.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/data/image_texts.h"
#include "tessera/scenes/scenes.h"

namespace tessera::training {
namespace {

class FromLines final : public ImageExamples {
   public:
    explicit FromLines(const std::string& name)
        : lines_(data::files_ending({name}, {".jsonl", ".ndjson"}), {"prefix", "suffix"}) {}
    std::int64_t size() const override { return lines_.size(); }
    ImageExample at(std::int64_t index) const override {
        data::ImageTexts::Example line = lines_.at(index);
        return {formats::read_image(line.image), std::move(line.texts[0]), std::move(line.texts[1])};
    }
    std::string where(std::int64_t index) const override { return lines_.where(index); }
    std::vector<std::filesystem::path> files() const override { return lines_.images(); }

   private:
    data::ImageTexts lines_;
};

class FromScenes final : public ImageExamples {
   public:
    explicit FromScenes(const std::string& file) : scenes_(std::filesystem::path(file)) {}
    std::int64_t size() const override { return scenes_.size(); }
    ImageExample at(std::int64_t index) const override {
        scenes::Scene scene = scenes_.at(index);
        return {std::move(scene.image), std::move(scene.prefix), std::move(scene.suffix)};
    }
    std::string where(std::int64_t index) const override { return scenes_.where(index); }

   private:
    scenes::Scenes scenes_;
};

class Joined final : public ImageExamples {
   public:
    explicit Joined(std::vector<std::unique_ptr<ImageExamples>> sets) : sets_(std::move(sets)) {
        for (const auto& set : sets_) ends_.push_back(size() + set->size());
    }
    std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
    ImageExample at(std::int64_t index) const override {
        const auto [set, own] = find(index);
        return set->at(own);
    }
    std::string where(std::int64_t index) const override {
        const auto [set, own] = find(index);
        return set->where(own);
    }

    std::vector<std::filesystem::path> files() const override {
        std::vector<std::filesystem::path> all;
        for (const auto& set : sets_)
            for (std::filesystem::path& file : set->files()) all.push_back(std::move(file));
        return all;
    }

   private:
    std::pair<const ImageExamples*, std::int64_t> find(std::int64_t index) const {
        const auto set = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
        return {sets_[set].get(), index - (set == 0 ? 0 : ends_[set - 1])};
    }

    std::vector<std::unique_ptr<ImageExamples>> sets_;
    std::vector<std::int64_t> ends_;
};

}  // namespace

std::unique_ptr<ImageExamples> open_image_examples(const std::vector<std::string>& files_and_folders) {
    check(!files_and_folders.empty(), "no images with texts given");
    std::vector<std::unique_ptr<ImageExamples>> sets;
    for (const std::string& name : files_and_folders)
        if (scenes::is_scenes_file(name))
            sets.push_back(std::make_unique<FromScenes>(name));
        else
            sets.push_back(std::make_unique<FromLines>(name));
    return sets.size() == 1 ? std::move(sets[0]) : std::make_unique<Joined>(std::move(sets));
}

}  // namespace tessera::training
