#include "tessera/scenes/artwork.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "tessera/core/error.h"
#include "tessera/core/parallel.h"
#include "tessera/data/image_texts.h"
#include "tessera/scenes/scene_words.h"

namespace tessera::scenes {
namespace {

namespace fs = std::filesystem;

constexpr const char* clip_art = "clip-art";
constexpr std::uintmax_t most_bytes = 1 << 20;  // larger ones are for print, and take seconds to decode
constexpr std::size_t most_images = 8;          // of one object in one style

std::string in_small_letters(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

// The files of a style, by the name of what they show.
std::multimap<std::string, fs::path> files_of(const std::string& style, const SceneSettings& settings) {
    const fs::path folder = fs::path(settings.parts) / (style == clip_art ? clip_art : "emoji");
    const fs::path list = folder / (style + ".jsonl");
    std::error_code error;
    check(fs::is_regular_file(list, error), settings.source, ": styles: ", list.string(),
          " is not there; tools/fetch_data ", folder.filename().string(), " brings it");
    const data::ImageTexts lines({list}, {"text"});
    std::multimap<std::string, fs::path> files;
    for (std::int64_t i = 0; i < lines.size(); ++i) {
        data::ImageTexts::Example line = lines.at(i);
        files.emplace(in_small_letters(line.texts[0]), std::move(line.image));
    }
    return files;
}

// Nothing where a size has nothing left to be seen.
std::optional<SceneImage> image_of(const fs::path& file, const std::vector<std::int64_t>& sides) {
    const Sprite whole = sprite_of(formats::read_transparent_image(file));
    if (whole.width == 0) return std::nullopt;
    SceneImage image{.mean = whole.mean()};
    for (const std::int64_t side : sides) {
        image.sizes.push_back(scaled(whole, side));
        if (image.sizes.back().width == 0) return std::nullopt;
    }
    return image;
}

std::vector<fs::path> files_named(const std::multimap<std::string, fs::path>& files,
                                  const std::vector<std::string>& names) {
    std::vector<fs::path> found;
    for (const std::string& name : names) {
        const auto [begin, end] = files.equal_range(name);
        for (auto each = begin; each != end && found.size() < most_images; ++each)
            if (fs::file_size(each->second) <= most_bytes) found.push_back(each->second);
    }
    return found;
}

}  // namespace

std::vector<std::int64_t> scene_sides(std::int64_t image_size) {
    std::vector<std::int64_t> sides;
    for (const std::int64_t percent : {20, 23, 26, 30, 34, 39, 45, 52, 60}) sides.push_back(image_size * percent / 100);
    return sides;
}

std::vector<SceneSubject> load_subjects(const SceneSettings& settings) {
    struct Source {
        std::size_t subject, style;
        fs::path file;
        std::optional<SceneImage> image = {};
    };
    std::vector<Source> sources;
    for (std::size_t style = 0; style < settings.styles.size(); ++style) {
        const auto files = files_of(settings.styles[style], settings);
        for (std::size_t subject = 0; subject < settings.objects.size(); ++subject)
            for (fs::path& file :
                 files_named(files, image_names(settings.objects[subject], settings.styles[style] == clip_art)))
                sources.push_back({subject, style, std::move(file)});
    }
    const std::vector<std::int64_t> sides = scene_sides(settings.size);
    parallel_for(static_cast<std::int64_t>(sources.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            Source& source = sources[static_cast<std::size_t>(i)];
            source.image = image_of(source.file, sides);
        }
    });
    std::vector<SceneSubject> subjects(settings.objects.size());
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        subjects[i].name = settings.objects[i];
        subjects[i].styles.resize(settings.styles.size());
    }
    for (Source& source : sources)
        if (source.image) subjects[source.subject].styles[source.style].push_back(std::move(*source.image));
    for (SceneSubject& subject : subjects) {
        std::erase_if(subject.styles, [](const auto& images) { return images.empty(); });
        check(!subject.styles.empty(), settings.source, ": objects: no style has an image of '", subject.name, "'");
    }
    return subjects;
}

}  // namespace tessera::scenes
