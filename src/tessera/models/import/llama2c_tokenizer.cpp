#include "tessera/models/import/llama2c_tokenizer.h"

#include "tessera/core/mapped_file.h"
#include "tessera/formats/byte_reader.h"

namespace tessera::models {

Llama2cTokenizer parse_llama2c_tokenizer(std::span<const std::byte> file, const std::string& source) {
    formats::ByteReader in(file, source);
    Llama2cTokenizer out{.longest = in.read<std::int32_t>("max_token_length")};
    check(out.longest > 0, source, ": max_token_length: expected a positive integer, found ", out.longest);
    while (in.remaining() > 0) {
        const std::string field = text_of("token ", out.tokens.size());
        out.scores.push_back(in.read<float>(field));
        const auto length = in.read<std::int32_t>(field);
        check(length >= 0 && length <= out.longest, source, ": ", field, ": a length of ", length,
              ", where the longest is ", out.longest);
        out.tokens.emplace_back(in.text(static_cast<std::uint64_t>(length), field));
    }
    return out;
}

Llama2cTokenizer open_llama2c_tokenizer(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_llama2c_tokenizer({file.data(), file.bytes()}, path.string());
}

}  // namespace tessera::models
