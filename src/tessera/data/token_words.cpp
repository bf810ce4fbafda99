#include "tessera/data/token_words.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace tessera::data {
namespace {

constexpr std::string_view continuation = "##", low_line = "▁", byte_space = "Ġ", byte_line_feed = "Ċ";

bool marks_beginning(std::string_view token) { return token.starts_with(low_line) || token.starts_with(byte_space); }

bool is_letter(std::string_view token) {
    if (token.empty() || token.starts_with(byte_line_feed)) return false;
    const auto first = static_cast<unsigned char>(token[0]);
    return first >= 0x80 || std::isalnum(first);
}

}  // namespace

TokenWords::TokenWords(const tokenizers::Tokenizer& tokenizer) {
    std::vector<std::string> tokens;
    for (std::int64_t id = 0; id < tokenizer.size(); ++id) {
        std::string text;
        try {
            text = tokenizer.token(id);
        } catch (const std::exception&) {  // a vocabulary may have holes
        }
        tokens.push_back(std::move(text));
    }
    const bool continues = std::any_of(tokens.begin(), tokens.end(), [](const std::string& token) {
        return token.size() > continuation.size() && token.starts_with(continuation);
    });
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        const std::string& token = tokens[id];
        if (token.empty() || tokenizer.is_special(static_cast<std::int64_t>(id)))
            kinds_.push_back(Kind::Special);
        else if (continues)
            kinds_.push_back(token.starts_with(continuation) ? Kind::Continues : Kind::Begins);
        else if (marks_beginning(token))
            kinds_.push_back(Kind::Begins);
        else
            kinds_.push_back(is_letter(token) ? Kind::Letters : Kind::Alone);
    }
}

bool TokenWords::joins(std::int64_t before, std::int64_t id) const {
    const Kind earlier = kind(before);
    if (kind(id) == Kind::Continues) return earlier != Kind::Special;
    return kind(id) == Kind::Letters && (earlier == Kind::Letters || earlier == Kind::Begins);
}

std::vector<std::size_t> TokenWords::starts(std::span<const std::int64_t> ids) const {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (i == 0 || !joins(ids[i - 1], ids[i])) starts.push_back(i);
    return starts;
}

}  // namespace tessera::data
