#include "tessera/models/import/llama2c_tokenizer.h"

#include "tessera/core/mapped_file.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/find_file.h"

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

bool is_llama2c_tokenizer(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.ends_with(".bin") && (name.starts_with("tok") || name.find("tokenizer") != std::string::npos);
}

std::filesystem::path llama2c_tokenizer_beside(const std::filesystem::path& weights) {
    std::filesystem::path found;
    const std::filesystem::path folder = formats::folder_of(weights);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (!is_llama2c_tokenizer(entry.path()) || entry.path().filename() == weights.filename()) continue;
        check(found.empty(), weights.string(), ": two tokenizers lie beside it: ", found.string(), " and ",
              entry.path().string());
        found = formats::find_file(folder, entry.path().filename());
    }
    check(!error, folder.string(), ": ", error.message());
    return found;
}

Llama2cTokenizer open_llama2c_tokenizer(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_llama2c_tokenizer({file.data(), file.bytes()}, path.string());
}

}  // namespace tessera::models
