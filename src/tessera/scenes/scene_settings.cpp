#include "tessera/scenes/scene_settings.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tessera/core/error.h"
#include "tessera/scenes/font_list.h"
#include "tessera/scenes/scene_words.h"

namespace tessera::scenes {
namespace {

using formats::Config;
using formats::Json;

constexpr std::int64_t least_size = 32, largest_size = 448;  // locations name every pixel's edge up to there
constexpr std::int64_t most_images = std::int64_t{1} << 40, most_names = 1000, heaviest = 1'000'000;
constexpr std::size_t longest_name = 40;

constexpr const char* keys[] = {"size",  "pictures", "seed",   "parts", "styles",
                                "fonts", "objects",  "shapes", "most",  "tasks"};

template <class Names>
std::string listed(const Names& names) {
    std::string list;
    for (const auto& name : names) list += text_of(list.empty() ? "" : ", ", name);
    return list;
}

std::int64_t within(const Config& file, const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most) file.reject(name, text_of("expected ", least, " to ", most, ", found ", value));
    return value;
}

std::vector<std::string> names_in(const Config& file, const char* field) {
    std::vector<std::string> names = file.has(field) ? file.texts(field) : std::vector<std::string>();
    within(file, field, static_cast<std::int64_t>(names.size()), 0, most_names);
    std::set<std::string> seen;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > longest_name) file.reject(field, text_of("'", name, "' is no name"));
        if (!seen.insert(name).second) file.reject(field, text_of("'", name, "' is there twice"));
    }
    return names;
}

// A file's own name: with a folder in it, it could be any file of the machine.
void check_file_names(const Config& file, const char* field, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (name.find('/') != name.npos || name.starts_with('.'))
            file.reject(field, text_of("'", name, "' is no name of its own"));
}

std::vector<std::string> font_files(const Config& file) {
    const Json* given = file.json().find("fonts");
    if (!given || given->is_null()) return font_list("train");
    if (given->is_array()) return names_in(file, "fonts");
    const std::vector<std::string> known = font_list(file.text("fonts"));
    if (known.empty())
        file.reject("fonts", text_of("expected \"train\", \"held-out\" or a list of files, found ", *given));
    return known;
}

// Objects become words of questions, so they are written as such: letters, with a space or hyphen between words.
std::vector<std::string> object_names(const Config& file, bool has_styles) {
    std::vector<std::string> names = names_in(file, "objects");
    if (!has_styles && !names.empty()) file.reject("objects", "there are no styles to draw them in");
    if (has_styles && names.empty()) return default_objects();
    for (const std::string& name : names) {
        const bool plain = std::all_of(name.begin(), name.end(),
                                       [](char c) { return (c >= 'a' && c <= 'z') || c == ' ' || c == '-'; });
        if (!plain || name.front() == ' ' || name.back() == ' ' || name.find("  ") != name.npos)
            file.reject("objects", text_of("'", name, "' is no name; small letters, with single spaces between words"));
        if (name == "all") file.reject("objects", "'all' asks for everything (detect all)");
        if (is_shape_word(name.substr(name.rfind(' ') + 1)))
            file.reject("objects", text_of("'", name, "' is what a shape is called"));
    }
    return names;
}

std::array<std::int64_t, scene_tasks> task_weights(const Config& file) {
    std::array<std::int64_t, scene_tasks> weights{};
    weights.fill(file.has("tasks") ? 0 : 1);
    const Config tasks = file.section_or_empty("tasks");
    for (const auto& [name, value] : tasks.json().members()) {
        const auto known = std::find(scene_task_names.begin(), scene_task_names.end(), std::string_view(name));
        if (known == scene_task_names.end())
            tasks.reject(name, text_of("no task; there are ", listed(scene_task_names)));
        weights[static_cast<std::size_t>(known - scene_task_names.begin())] =
            within(tasks, name.c_str(), tasks.integer(name), 0, heaviest);
    }
    if (std::accumulate(weights.begin(), weights.end(), std::int64_t{0}) == 0)
        file.reject("tasks", "no task has a weight above 0");
    return weights;
}

// A folder beside the set's file, else one in the working directory.
std::string found_from(const std::string& source, const std::string& folder) {
    const std::filesystem::path beside = std::filesystem::path(source).parent_path() / folder;
    std::error_code error;
    return std::filesystem::is_directory(beside, error) ? beside.string() : folder;
}

}  // namespace

SceneSettings read_scene_settings(const Config& file) {
    for (const auto& [key, value] : file.json().members())
        if (std::find(std::begin(keys), std::end(keys), key) == std::end(keys))
            file.reject(key, text_of("no key of a scene set; there are ", listed(keys)));
    SceneSettings settings{.source = file.source()};
    settings.size = within(file, "size", file.integer("size", settings.size), least_size, largest_size);
    settings.images = within(file, "pictures", file.integer("pictures"), 1, most_images);
    settings.seed = static_cast<std::uint64_t>(within(file, "seed", file.integer("seed", 0), 0, INT64_MAX));
    settings.parts = found_from(file.source(), file.text("parts", "data"));
    settings.styles = names_in(file, "styles");
    check_file_names(file, "styles", settings.styles);
    settings.fonts = font_files(file);
    check_file_names(file, "fonts", settings.fonts);
    settings.objects = object_names(file, !settings.styles.empty());
    settings.shapes = file.boolean("shapes", true);
    settings.most = within(file, "most", file.integer("most", settings.most), 1, most_scene_things);
    settings.weights = task_weights(file);
    const bool shows_things = settings.shapes || !settings.objects.empty();
    const auto weight = [&](SceneTask task) { return settings.weights[static_cast<std::size_t>(task)]; };
    if (settings.fonts.empty() && weight(SceneTask::Ocr) > 0) file.reject("fonts", "the task ocr needs at least one");
    if (!shows_things) file.reject("styles", "without styles and shapes there is nothing to show");
    if (!settings.shapes && settings.objects.size() < 2 && weight(SceneTask::Where) + weight(SceneTask::Count) > 0)
        file.reject("objects", "the tasks count and where need at least two, or shapes");
    if (settings.most < 2 && weight(SceneTask::Where) > 0) file.reject("most", "the task where needs at least two");
    return settings;
}

bool is_scenes_file(const std::filesystem::path& file) { return file.filename().string().ends_with(".scenes.json"); }

}  // namespace tessera::scenes
