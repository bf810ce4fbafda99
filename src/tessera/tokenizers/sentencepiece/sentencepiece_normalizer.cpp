#include "tessera/tokenizers/sentencepiece/sentencepiece_normalizer.h"

#include <algorithm>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceFile& file, const std::string& source)
    : file_(file), named_(source + ": precompiled_charsmap") {
    if (!file.character_map.empty()) map_ = CharacterMap::from_bytes(file.character_map, named_);
    for (std::size_t i = 0; i < file.pieces.size(); ++i)
        if (file.pieces[i].kind == SentencePieceFile::Kind::UserDefined)
            user_defined_.add(file.pieces[i].text, static_cast<std::uint32_t>(i));
}

// What a place of a text is written as.
CharacterMap::Found SentencePieceNormalizer::beginning(std::string_view text, std::size_t at,
                                                       LongestTokens& user_defined) const {
    if (!user_defined_.empty())
        if (const std::size_t length = user_defined.at(at).length) return {length, text.substr(at, length)};
    if (map_) return map_->longest(text.substr(at));
    const std::size_t length = text::character_length(text[at]);
    return {length, text.substr(at, length)};
}

std::string SentencePieceNormalizer::normalize(std::string_view text, bool prefix) const {
    const WorkScope work(text.size());
    std::string out;
    LongestTokens user_defined(user_defined_, text);
    std::size_t at = 0;
    const auto next = [&] {
        const CharacterMap::Found found = beginning(text, at, user_defined);
        work->charge(found.steps + found.instead.size(), named_);
        return found;
    };
    while (file_.remove_extra_spaces && at < text.size()) {
        const CharacterMap::Found found = next();
        if (found.instead != " ") break;
        at += found.length;
    }
    if (at == text.size()) return out;
    out.reserve((text.size() - at) * 2);
    const std::string_view space = file_.escape_spaces ? std::string_view(file_.space) : " ";
    prefix = prefix && file_.add_dummy_prefix;
    if (prefix && !file_.space_as_suffix) out += space;
    bool after_space = file_.remove_extra_spaces;
    while (at < text.size()) {
        auto [length, instead, steps] = next();
        at += length;
        while (after_space && instead.starts_with(' ')) instead.remove_prefix(1);
        if (instead.empty()) continue;
        work->check_length(out.size() + instead.size(), named_);
        for (const char c : instead)
            if (c == ' ')
                out += space;
            else
                out += c;
        after_space = file_.remove_extra_spaces && instead.ends_with(' ');
    }
    while (file_.remove_extra_spaces && out.ends_with(space)) out.resize(out.size() - space.size());
    if (prefix && file_.space_as_suffix) out += space;
    work->grow(text.size(), out.size(), named_);
    // A map may point into the middle of a character.
    return text::is_valid_utf8(out) ? out : text::repaired_utf8(out);
}

}  // namespace tessera::tokenizers
