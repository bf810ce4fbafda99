#include "tessera/tokenizers/stages/splitter.h"

#include <cstring>

#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

class LiteralSplitter : public Splitter {
   public:
    explicit LiteralSplitter(std::string literal) : literal_(std::move(literal)) {}

    void find(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> give) const override {
        if (literal_.empty()) return;
        for (std::size_t at = 0; (at = next(text, at)) != std::string_view::npos; at += literal_.size())
            give(at, at + literal_.size());
    }

   private:
    // memmem is linear whatever is looked for, and slow to start; std::string_view::find is neither.
    std::size_t next(std::string_view text, std::size_t at) const {
        constexpr std::size_t is_short = 16;
        if (literal_.size() <= is_short) return text.find(literal_, at);
        const void* found = memmem(text.data() + at, text.size() - at, literal_.data(), literal_.size());
        return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
    }

    std::string literal_;
};

class CharacterSplitter : public Splitter {
   public:
    explicit CharacterSplitter(bool (*matches)(char32_t)) : matches_(matches) {}

    void find(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> give) const override {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = at + text::character_length(text[at]);
            if (matches_(text::character_at(text.data() + at))) give(at, end);
            at = end;
        }
    }

   private:
    bool (*matches_)(char32_t);
};

}  // namespace

const char* const byte_level_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::unique_ptr<Splitter> pattern_splitter(const std::string& pattern, const std::string& name) {
    if (auto scanner = scanner_splitter(pattern)) return scanner;
    return regex_splitter(pattern, name);
}

std::unique_ptr<Splitter> literal_splitter(std::string literal) {
    return std::make_unique<LiteralSplitter>(std::move(literal));
}

std::unique_ptr<Splitter> character_splitter(bool (*matches)(char32_t)) {
    return std::make_unique<CharacterSplitter>(matches);
}

}  // namespace tessera::tokenizers
