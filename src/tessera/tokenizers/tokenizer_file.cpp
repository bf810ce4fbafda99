#include "tessera/tokenizers/tokenizer_file.h"

#include <algorithm>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/tokenizers/tokenizer_config.h"

namespace tessera::tokenizers {
namespace {

namespace fs = std::filesystem;

// What a folder may say of its tokenizer beside the files that hold it.
constexpr const char* beside[] = {"tokenizer_config.json", "special_tokens_map.json", "merges.txt", "added_tokens.json",
                                  "chat_template.jinja"};

std::vector<TokenizerFile>& kinds() {
    static std::vector<TokenizerFile> all;
    return all;
}

const TokenizerFile& kind_of(const fs::path& file) {
    for (const TokenizerFile& kind : kinds())
        if (kind.fits(file)) return kind;
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
        const fs::path file = formats::find_file(folder, kind.in_folder);
        std::error_code error;
        if (fs::is_regular_file(file, error) && kind.fits(file)) found.push_back({file, &kind});
    }
    return found;
}

std::shared_ptr<Tokenizer> open_folder(const fs::path& folder) {
    if (const std::vector<Found> found = found_in(folder); !found.empty()) return found[0].kind->open(found[0].file);
    std::string names;
    for (const TokenizerFile& kind : kinds())
        if (kind.in_folder && names.find(kind.in_folder) == std::string::npos)
            names += text_of(names.empty() ? "" : ", ", kind.in_folder);
    throw NoTokenizer(text_of(folder.string(), ": holds no tokenizer; looked for ", names));
}

// What the tokenizer is made of, byte by byte; a checkpoint that brings its tokenizer along is too large for that.
std::string fingerprint_of(const fs::path& folder_or_file) {
    const bool is_folder = fs::is_directory(folder_or_file);
    const fs::path file = is_folder ? found_in(folder_or_file)[0].file : folder_or_file;
    if (kind_of(file).write)
        return text_of(fs::absolute(file).string(), " ", fs::file_size(file), " ",
                       fs::last_write_time(file).time_since_epoch().count());
    std::vector<fs::path> files{file};
    for (const char* name : beside)
        files.push_back(formats::find_file(is_folder ? folder_or_file : formats::folder_of(file), name));
    std::string fingerprint;
    for (const fs::path& one : files) {
        if (one.empty()) continue;
        const MappedFile mapped(one);
        const std::string_view bytes(reinterpret_cast<const char*>(mapped.data()), mapped.bytes());
        fingerprint += text_of(fingerprint.empty() ? "" : " ", one.filename().string(), " ", bytes.size(), " ",
                               std::hash<std::string_view>{}(bytes));
    }
    return fingerprint;
}

}  // namespace

RegisterTokenizerFile::RegisterTokenizerFile(const TokenizerFile& kind) {
    auto& all = kinds();
    all.insert(std::upper_bound(all.begin(), all.end(), kind,
                                [](const TokenizerFile& a, const TokenizerFile& b) { return a.rank < b.rank; }),
               kind);
}

std::shared_ptr<const Tokenizer> open_tokenizer(const fs::path& folder_or_file) {
    formats::check_exists(folder_or_file);
    const bool folder = fs::is_directory(folder_or_file);
    check(folder || fs::is_regular_file(folder_or_file), folder_or_file.string(), ": neither a file nor a folder");
    std::shared_ptr<Tokenizer> tokenizer =
        folder ? open_folder(folder_or_file) : kind_of(folder_or_file).open(folder_or_file);
    apply(read_tokenizer_config(folder ? folder_or_file : formats::folder_of(folder_or_file)), *tokenizer);
    tokenizer->fingerprint = fingerprint_of(folder_or_file);
    return tokenizer;
}

std::vector<fs::path> tokenizer_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const Found& found : found_in(folder)) files.push_back(found.file);
    return files;
}

void copy_tokenizer(const fs::path& folder_or_file, const fs::path& folder) {
    const auto copy = [](const fs::path& from, const fs::path& to) {
        std::error_code ignored;
        if (!fs::equivalent(from, to, ignored)) formats::copy_file(from, to);
    };
    if (fs::is_directory(folder_or_file)) {
        for (const fs::path& file : tokenizer_files(folder_or_file)) copy(file, folder / file.filename());
        for (const char* name : beside)
            if (const fs::path file = formats::find_file(folder_or_file, name); !file.empty())
                copy(file, folder / name);
        return;
    }
    const TokenizerFile& kind = kind_of(folder_or_file);
    if (kind.write) return kind.write(folder_or_file, folder);
    // A vocabulary and its merges go together; any other file has the name that its folder would give it.
    const bool is_pair = std::string_view(kind.in_folder) == "vocab.json";
    for (const char* name : {"vocab.json", "merges.txt"})
        if (const fs::path file = formats::find_file(formats::folder_of(folder_or_file), name);
            is_pair && !file.empty())
            copy(file, folder / name);
    if (!is_pair) copy(folder_or_file, folder / kind.in_folder);
}

}  // namespace tessera::tokenizers
