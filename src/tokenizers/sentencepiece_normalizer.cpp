#include "tokenizers/sentencepiece_normalizer.h"

#include <algorithm>

#include "tokenizers/utf8.h"

namespace tessera::tokenizers {

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceFile& file, const std::string& source)
    : file_(file) {
    if (!file.character_map.empty())
        map_ = CharacterMap::from_bytes(file.character_map, source + ": precompiled_charsmap");
    for (std::size_t i = 0; i < file.pieces.size(); ++i) {
        if (file.pieces[i].kind != SentencePieceFile::Kind::UserDefined) continue;
        user_defined_.add(file.pieces[i].text, static_cast<std::uint32_t>(i));
        has_user_defined_ = true;
    }
}

std::size_t SentencePieceNormalizer::user_defined_length(std::string_view text) const {
    std::size_t length = 0;
    std::uint32_t node = Trie::root;
    for (std::size_t i = 0; has_user_defined_ && i < text.size(); ++i) {
        node = user_defined_.step(node, static_cast<unsigned char>(text[i]));
        if (node == Trie::none) break;
        if (user_defined_.value(node) != Trie::none) length = i + 1;
    }
    return length;
}

// What the beginning of a text is written as.
CharacterMap::Found SentencePieceNormalizer::beginning(std::string_view text) const {
    if (const std::size_t length = user_defined_length(text)) return {length, text.substr(0, length)};
    if (map_)
        if (const auto found = map_->longest(text)) return *found;
    const std::size_t length = std::min(character_length(text[0]), text.size());  // a map may stop within a character
    return {length, text.substr(0, length)};
}

std::string SentencePieceNormalizer::normalize(std::string_view text, bool prefix) const {
    std::string out;
    while (file_.remove_extra_spaces && !text.empty()) {
        const CharacterMap::Found found = beginning(text);
        if (found.instead != " ") break;
        text.remove_prefix(found.length);
    }
    if (text.empty()) return out;
    out.reserve(text.size() * 2);
    const std::string_view space = file_.escape_spaces ? std::string_view(file_.space) : " ";
    prefix = prefix && file_.add_dummy_prefix;
    if (prefix && !file_.space_as_suffix) out += space;
    bool after_space = file_.remove_extra_spaces;
    while (!text.empty()) {
        auto [length, instead] = beginning(text);
        text.remove_prefix(length);
        while (after_space && instead.starts_with(' ')) instead.remove_prefix(1);
        if (instead.empty()) continue;
        for (const char c : instead)
            if (c == ' ')
                out += space;
            else
                out += c;
        after_space = file_.remove_extra_spaces && instead.ends_with(' ');
    }
    while (file_.remove_extra_spaces && out.ends_with(space)) out.resize(out.size() - space.size());
    if (prefix && file_.space_as_suffix) out += space;
    // A map may point into the middle of a character.
    return is_valid_utf8(out) ? out : repaired_utf8(out);
}

}  // namespace tessera::tokenizers
