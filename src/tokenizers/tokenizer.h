// Text to token ids and back, exactly as the reference tokenizers do it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tokenizers {

using Ids = std::vector<std::int64_t>;

// The tokens with a part to play, where the folder names them.
struct SpecialTokens {
    std::optional<std::int64_t> bos = {}, eos = {}, unknown = {}, padding = {}, mask = {}, separator = {},
                                classifier = {};
};

class Tokenizer {
   public:
    virtual ~Tokenizer() = default;

    // With special: also what the tokenizer puts around a text, such as a beginning-of-text token. The texts of added
    // tokens within `text` become their ids either way.
    virtual Ids encode(std::string_view text, bool with_special = true) const = 0;
    virtual Ids encode_pair(std::string_view first, std::string_view second, bool with_special = true) const = 0;
    virtual std::string decode(std::span<const std::int64_t> ids, bool skip_special = false) const = 0;

    virtual std::int64_t size() const = 0;                 // every id is below it
    virtual std::string token(std::int64_t id) const = 0;  // as it stands in the vocabulary; throws past the end
    virtual std::optional<std::int64_t> id(std::string_view token) const = 0;
    virtual bool is_special(std::int64_t id) const = 0;  // left out by skip_special

    SpecialTokens special;
    std::string chat_template;  // its source; empty: none
};

// A folder (tokenizer.json, else tokenizer.model, vocab.json + merges.txt, vocab.txt, a tiktoken file) or one such
// file, or a checkpoint file that holds its tokenizer.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& folder_or_file);

}  // namespace tessera::tokenizers
