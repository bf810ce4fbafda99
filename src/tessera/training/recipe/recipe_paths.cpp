#include "tessera/training/recipe/recipe_paths.h"

#include <algorithm>
#include <sstream>

#include "tessera/core/error.h"
#include "tessera/models/presets.h"
#include "tessera/training/tokenizer_spec.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

bool is_there(const fs::path& path) {
    std::error_code error;  // a path that cannot be looked at is not there
    return fs::exists(path, error);
}

// Without its dots, unless links on the way make that another place.
fs::path whole(const fs::path& path) {
    std::error_code unknown;
    const fs::path absolute = fs::absolute(path, unknown);
    if (unknown) return path;
    fs::path plain = absolute.lexically_normal();
    if (!plain.has_filename()) plain = plain.parent_path();
    std::error_code error;
    return fs::equivalent(plain, absolute, error) ? plain : absolute;
}

std::string found_from(const fs::path& folder, const std::string& given) {
    if (given.empty()) return given;
    for (const fs::path& base : {folder, fs::path()})
        if (is_there(base / given)) return whole(base / given).string();
    return given;
}

// Those between commas, unless the whole is the name of a file.
std::vector<std::string> paths_in(const fs::path& folder, const std::string& given) {
    if (given.find(',') == given.npos || is_there(folder / given) || is_there(given)) return {given};
    std::vector<std::string> paths;
    std::istringstream words(given);
    for (std::string path; std::getline(words, path, ',');)
        if (!path.empty()) paths.push_back(path);
    return paths;
}

bool is_name(const std::string& given) {
    const auto presets = models::presets();
    return tokenizer_kind(given) ||
           std::any_of(presets.begin(), presets.end(), [&](const models::Preset& one) { return given == one.name; });
}

}  // namespace

Json with_whole_path(const RecipeKey& key, Json value, const fs::path& folder) {
    if (key.kind == KeyKind::Paths) {
        Json list = Json::array();
        for (const Json& item : value.items())
            for (const std::string& path : paths_in(folder, item.as_string())) list.push_back(found_from(folder, path));
        return list;
    }
    const bool is_path = (key.kind == KeyKind::Path || key.kind == KeyKind::PathOrObject) && value.is_string();
    return is_path && !is_name(value.as_string()) ? Json(found_from(folder, value.as_string())) : value;
}

void check_paths(const Recipe& recipe) {
    const auto check_path = [&](const char* key, const std::string& path) {
        if (is_there(path)) return;
        std::error_code error;
        const bool is_public = path.starts_with("data/") || path.find("/data/") != path.npos;
        recipe.resolved.reject(
            key, text_of("'", path, "': no such file or folder, beside the recipe or in ",
                         fs::current_path(error).string(), is_public ? " (tools/fetch_data brings public sets)" : ""));
    };
    const auto check_list = [&](const char* key, const std::vector<std::string>& paths) {
        for (const std::string& path : paths) {
            if (path.empty()) recipe.resolved.reject(key, "expected a path, found \"\"");
            check_path(key, path);
        }
    };
    if (recipe.train_data.empty()) recipe.resolved.reject("data.train", "expected files or folders, found none");
    check_list("data.train", recipe.train_data);
    check_list("data.validation", recipe.validation_data);
    if (!recipe.weights.empty()) check_path("weights", recipe.weights);
}

}  // namespace tessera::training
