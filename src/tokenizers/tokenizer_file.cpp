#include "tokenizers/tokenizer_file.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "tokenizers/tokenizer_config.h"

namespace tessera::tokenizers {
namespace {

namespace fs = std::filesystem;

std::vector<TokenizerFile>& kinds() {
    static std::vector<TokenizerFile> all;
    return all;
}

std::shared_ptr<Tokenizer> open_file(const fs::path& file) {
    for (const TokenizerFile& kind : kinds())
        if (kind.fits(file)) return kind.open(file);
    fail(file.string(), ": is no kind of tokenizer file that is known");
}

struct Found {
    fs::path file;
    const TokenizerFile* kind = nullptr;
};

std::vector<Found> found_in(const fs::path& folder) {
    std::vector<Found> found;
    for (const TokenizerFile& kind : kinds()) {
        if (!kind.in_folder) continue;
        const fs::path file = folder / kind.in_folder;
        if (fs::is_regular_file(file) && kind.fits(file)) found.push_back({file, &kind});
    }
    return found;
}

std::shared_ptr<Tokenizer> open_folder(const fs::path& folder) {
    if (const std::vector<Found> found = found_in(folder); !found.empty()) return found[0].kind->open(found[0].file);
    std::string names;
    for (const TokenizerFile& kind : kinds())
        if (kind.in_folder && names.find(kind.in_folder) == std::string::npos)
            names += text_of(names.empty() ? "" : ", ", kind.in_folder);
    fail(folder.string(), ": holds no tokenizer; looked for ", names);
}

}  // namespace

RegisterTokenizerFile::RegisterTokenizerFile(const TokenizerFile& kind) {
    auto& all = kinds();
    all.insert(std::upper_bound(all.begin(), all.end(), kind,
                                [](const TokenizerFile& a, const TokenizerFile& b) { return a.rank < b.rank; }),
               kind);
}

std::shared_ptr<const Tokenizer> open_tokenizer(const fs::path& folder_or_file) {
    check(fs::exists(folder_or_file), folder_or_file.string(), ": no such file or folder");
    const bool folder = fs::is_directory(folder_or_file);
    std::shared_ptr<Tokenizer> tokenizer = folder ? open_folder(folder_or_file) : open_file(folder_or_file);
    apply(read_tokenizer_config(folder ? folder_or_file : folder_or_file.parent_path()), *tokenizer);
    return tokenizer;
}

std::vector<fs::path> tokenizer_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const Found& found : found_in(folder)) files.push_back(found.file);
    return files;
}

}  // namespace tessera::tokenizers
