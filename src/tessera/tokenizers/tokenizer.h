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

#include "tessera/core/function_ref.h"

namespace tessera::tokenizers {

using Ids = std::vector<std::int64_t>;

// The tokens with a part to play, where the folder names them.
struct SpecialTokens {
    std::optional<std::int64_t> bos = {}, eos = {}, unknown = {}, padding = {}, mask = {}, separator = {},
                                classifier = {};
};

// What a file says of lengths. Nothing is cut or filled up unless asked for.
struct Truncation {
    std::int64_t length = 0, stride = 0;
    bool from_left = false;
    std::string strategy = {};
};
struct Padding {
    std::optional<std::int64_t> length = {};  // without it, that of the longest in a batch
    std::int64_t multiple_of = 1, id = 0;
    bool on_left = false;
};

// Ids in one at a time; out comes text that no later id can change, in whole characters of UTF-8.
class TextStream {
   public:
    virtual ~TextStream() = default;
    virtual void add(std::int64_t id, std::string& out) = 0;  // appends
    virtual void finish(std::string& out) = 0;                // appends what is left
};

// Const calls may come from many threads at once.
class Tokenizer {
   public:
    virtual ~Tokenizer() = default;

    // With special: also what the tokenizer puts around a text, such as a beginning-of-text token. The texts of added
    // tokens within `text` become their ids either way. What is no UTF-8 counts as U+FFFD.
    Ids encode(std::string_view text, bool with_special = true) const;
    Ids encode_pair(std::string_view first, std::string_view second, bool with_special = true) const;
    // The same ids as encode's, in parts as they are found, so that a long text's are never held all at once.
    void encode_in_parts(std::string_view text, FunctionRef<void(std::span<const std::int64_t>)> give,
                         bool with_special = true) const;
    // At most `length` ids, special ones included: the text loses its last ids, or its first if the file says so.
    Ids encode_at_most(std::string_view text, std::int64_t length, bool with_special = true) const;
    // Ids outside the vocabulary are passed over.
    std::string decode(std::span<const std::int64_t> ids, bool skip_special = false) const;
    virtual std::unique_ptr<TextStream> stream(bool skip_special) const = 0;

    virtual std::int64_t size() const = 0;                 // every id is below it
    virtual std::string token(std::int64_t id) const = 0;  // as it stands in the vocabulary; throws where there is none
    virtual std::optional<std::int64_t> id(std::string_view token) const = 0;
    virtual bool is_special(std::int64_t id) const = 0;  // left out by skip_special

    SpecialTokens special;
    std::string chat_template;  // its source; empty: none
    std::string fingerprint;    // differs where the files differ that it was opened from; empty: it is from no files
    std::optional<Truncation> truncation;
    std::optional<Padding> padding;

   protected:
    // May be called with what was found so far, which it may take: by append_ids, once it is much.
    using Take = FunctionRef<void(Ids& found)>;
    static constexpr std::size_t much = 1 << 16;  // ids
    virtual void append_ids(std::string_view valid_text, Ids& out, Take take) const = 0;
    // What goes around one text or two.
    virtual Ids surround(Ids first, const Ids* second, bool with_special) const = 0;
};

// A folder (tokenizer.json, else tokenizer.model, vocab.json + merges.txt, vocab.txt, a tiktoken file) or one such
// file, or a checkpoint file that holds its tokenizer.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& folder_or_file);
// The files of a folder from which a tokenizer can be opened: the first is the one that is taken. Empty: it has none.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& folder);
// Puts the tokenizer of a folder or a file, with what stands beside it there, into a folder, where it can be opened.
void copy_tokenizer(const std::filesystem::path& folder_or_file, const std::filesystem::path& folder);

}  // namespace tessera::tokenizers
