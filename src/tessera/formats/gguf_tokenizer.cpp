#include "tessera/formats/gguf_tokenizer.h"

namespace tessera::formats {
namespace {

std::optional<std::int64_t> token_id(const Gguf& gguf, const std::string& key, std::size_t count) {
    if (!gguf.has(key)) return {};
    const std::int64_t id = gguf.integer(key);
    check(id >= 0 && static_cast<std::uint64_t>(id) < count, gguf.source, ": ", key, ": ", id,
          " is outside the vocabulary of ", count);
    return id;
}

std::optional<bool> optional_boolean(const Gguf& gguf, const std::string& key) {
    return gguf.has(key) ? std::optional(gguf.boolean(key)) : std::nullopt;
}

void check_per_token(const Gguf& gguf, const char* key, std::size_t found, std::size_t tokens) {
    check(found == tokens, gguf.source, ": ", key, ": ", found, " entries for ", tokens, " tokens");
}

}  // namespace

GgufTokenizer read_gguf_tokenizer(const Gguf& gguf) {
    GgufTokenizer out{.model = gguf.text("tokenizer.ggml.model")};
    out.pre = gguf.text("tokenizer.ggml.pre", "");
    out.tokens = gguf.texts("tokenizer.ggml.tokens");
    const std::size_t count = out.tokens.size();
    if (gguf.has("tokenizer.ggml.scores")) {
        out.scores = gguf.numbers("tokenizer.ggml.scores");
        check_per_token(gguf, "tokenizer.ggml.scores", out.scores.size(), count);
    }
    if (gguf.has("tokenizer.ggml.token_type")) {
        out.types = gguf.integers("tokenizer.ggml.token_type");
        check_per_token(gguf, "tokenizer.ggml.token_type", out.types.size(), count);
    }
    if (gguf.has("tokenizer.ggml.merges")) out.merges = gguf.texts("tokenizer.ggml.merges");
    out.bos = token_id(gguf, "tokenizer.ggml.bos_token_id", count);
    out.eos = token_id(gguf, "tokenizer.ggml.eos_token_id", count);
    out.eot = token_id(gguf, "tokenizer.ggml.eot_token_id", count);
    out.unknown = token_id(gguf, "tokenizer.ggml.unknown_token_id", count);
    out.padding = token_id(gguf, "tokenizer.ggml.padding_token_id", count);
    out.add_bos = optional_boolean(gguf, "tokenizer.ggml.add_bos_token");
    out.add_eos = optional_boolean(gguf, "tokenizer.ggml.add_eos_token");
    out.add_space_prefix = optional_boolean(gguf, "tokenizer.ggml.add_space_prefix");
    out.chat_template = gguf.text("tokenizer.chat_template", "");
    return out;
}

}  // namespace tessera::formats
