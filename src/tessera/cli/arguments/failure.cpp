#include "tessera/cli/arguments/failure.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "tessera/cli/arguments/suggestion.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"
#include "tessera/formats/output_folder.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/models/presets.h"
#include "tessera/tokenizers/tokenizer_file.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::cli {
namespace {

// The memory that this program holds, as the system counts it.
double held_bytes() {
    long long pages = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%lld %lld", &pages, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::string text_of_paths(const std::filesystem::filesystem_error& error) {
    std::string text = error.path1().empty() ? "a file" : error.path1().string();
    if (!error.path2().empty()) text += text_of(" → ", error.path2().string());
    return text;
}

template <class Kind>
bool is(const std::exception& error) {
    return dynamic_cast<const Kind*>(&error) != nullptr;
}

// What the user can say to put it right.
std::string hint(const std::exception& error, std::string_view command) {
    const bool talks = command == "generate" || command == "chat";
    if (is<training::EarlierRun>(error)) return "; --resume goes on with it, --overwrite replaces it";
    if (is<formats::FolderNotEmpty>(error)) return "; name another folder, or say --overwrite to replace what is in it";
    if (is<training::UnknownKey>(error)) return "; `tessera train --keys` lists all";
    if (const auto* unknown = dynamic_cast<const models::UnknownModel*>(&error)) {
        std::vector<std::string> presets;
        for (const models::Preset& preset : models::presets()) presets.emplace_back(preset.name);
        const std::string near = suggestion(unknown->name, presets);
        return near.empty() ? "; `tessera inspect --list` shows the presets" : near;
    }
    if (is<models::NoBase>(error) && talks) return "; name the base, and this by --adapter";
    if (is<models::NoBase>(error))
        return command == "merge" ? "; name the base with --base"
                                  : "; `tessera merge` with --base makes a model of both";
    if (is<tokenizers::NoTokenizer>(error) && (talks || command == "translate" || command == "score"))
        return "; name one with --tokenizer";
    return {};
}

}  // namespace

std::string failure_text(const std::exception& error, std::string_view command) {
    if (dynamic_cast<const Error*>(&error)) return text_of(error.what(), hint(error, command));
    if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
        return text_of(text_of_paths(*file), ": ", file->code().message());
    if (const auto* system = dynamic_cast<const std::system_error*>(&error))
        return text_of("the system refuses: ", system->code().message());
    if (dynamic_cast<const std::bad_alloc*>(&error))
        return text_of("out of memory: no more was given to this program, which holds ", in_bytes(held_bytes()));
    if (dynamic_cast<const std::length_error*>(&error))
        return "out of memory: a size is larger than any memory; is a number of the input far too large?";
    return text_of("a value of the input was not foreseen (", error.what(),
                   "): this is a defect of the program, which should have named it");
}

}  // namespace tessera::cli
