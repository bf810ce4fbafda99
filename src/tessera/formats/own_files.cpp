#include "tessera/formats/own_files.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "tessera/formats/atomic_file.h"
#include "tessera/formats/checkpoint_files.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

constexpr const char* weights_names[] = {config_name, generation_config_name, single_name, index_name};
constexpr const char* tokenizer_names[] = {"tokenizer.json",
                                           "tokenizer.model",
                                           "tokenizer_config.json",
                                           "tokenizer.tiktoken",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "chat_template.jinja",
                                           "vocab.json",
                                           "vocab.txt",
                                           "merges.txt",
                                           "spiece.model",
                                           "sentencepiece.bpe.model",
                                           "source.spm",
                                           "target.spm"};
constexpr const char* other_names[] = {
    "adapter_config.json", "adapter_model.safetensors", "preprocessor_config.json", "processor_config.json",
    "modules.json",        "1_Pooling/config.json"};

template <std::size_t count>
bool is_one_of(const fs::path& below, const char* const (&names)[count]) {
    return std::find(std::begin(names), std::end(names), below.string()) != std::end(names);
}

// model-00001-of-00002.safetensors
bool is_shard(const std::string& name) {
    constexpr std::string_view pattern = "model-00000-of-00000.safetensors";
    return std::equal(name.begin(), name.end(), pattern.begin(), pattern.end(), [](char letter, char wanted) {
        return wanted == '0' ? std::isdigit(static_cast<unsigned char>(letter)) != 0 : letter == wanted;
    });
}

// How long sentences may be: each architecture has a name of its own for it.
bool is_sentence_config(const std::string& name) {
    return name.starts_with("sentence_") && name.ends_with("_config.json");
}

// Whether something was removed.
bool remove_below(const fs::path& folder, const fs::path& below, const IsOwn& is_own) {
    std::error_code error;
    std::vector<fs::path> names;
    for (const auto& entry : fs::directory_iterator(folder / below, error)) names.push_back(entry.path().filename());
    bool removed = false;
    for (const fs::path& name : names) {
        const fs::path inner = below / name, path = folder / inner;
        if (fs::is_directory(fs::symlink_status(path, error))) {
            const bool emptied = remove_below(folder, inner, is_own);
            if (emptied || is_own(inner)) removed = fs::remove(path, error) || removed;  // where nothing is left in it
        } else if (is_own(inner) || is_temporary_name(name.string())) {
            removed = fs::remove(path, error) || removed;
        }
    }
    return removed;
}

}  // namespace

bool is_weights_file(const fs::path& below) { return is_one_of(below, weights_names) || is_shard(below.string()); }

bool is_tokenizer_file(const fs::path& below) { return is_one_of(below, tokenizer_names); }

bool is_model_file(const fs::path& below) {
    return is_weights_file(below) || is_tokenizer_file(below) || is_one_of(below, other_names) ||
           is_sentence_config(below.string());
}

void remove_own(const fs::path& folder, const IsOwn& is_own) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(folder, error))) return;
    remove_below(folder, {}, is_own);
    fs::remove(folder, error);  // where it is empty
}

}  // namespace tessera::formats
