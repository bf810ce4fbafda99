#include "tessera/tokenizers/sentencepiece/character_map.h"

#include <algorithm>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/text/base64.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {

CharacterMap CharacterMap::from_base64(std::string_view text, const std::string& named) {
    const std::optional<std::string> bytes = text::from_base64(text);
    check(bytes.has_value(), named, ": is no base64");
    return from_bytes(*bytes, named);
}

CharacterMap CharacterMap::from_bytes(std::string_view bytes, const std::string& named) {
    std::uint32_t size = 0;
    check(bytes.size() > sizeof size, named, ": ", bytes.size(), " bytes are too few");
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    check(size % 4 == 0 && size > 0 && size <= bytes.size(), named, ": a trie of ", size, " bytes in a map of ",
          bytes.size());
    CharacterMap map;
    map.units_.resize(size / 4);
    std::memcpy(map.units_.data(), bytes.data(), size);
    map.texts_ = bytes.substr(size);
    check(text::is_valid_utf8(map.texts_), named, ": its texts are no UTF-8");
    return map;
}

// Calls `use` with the length and the place of every text that begins here, while it answers true. Returns how far it
// looked.
template <class Use>
std::size_t CharacterMap::walk(std::string_view text, Use use) const {
    const auto offset = [](std::uint32_t unit) -> std::size_t { return (unit >> 10) << ((unit & 1u << 9) >> 6); };
    std::size_t node = offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        node ^= byte;
        if (byte == 0 || node >= units_.size()) return i + 1;
        const std::uint32_t unit = units_[node];
        if ((unit & (1u << 31 | 0xFFu)) != byte) return i + 1;
        node ^= offset(unit);
        const bool ends = (unit >> 8 & 1u) != 0;
        if (!ends) continue;
        if (node >= units_.size() || !use(i + 1, units_[node] & 0x7FFFFFFFu)) return i + 1;
    }
    return text.size();
}

CharacterMap::Found CharacterMap::found(std::size_t length, std::uint32_t place) const {
    const std::string_view rest = std::string_view(texts_).substr(std::min<std::size_t>(place, texts_.size()));
    return {length, rest.substr(0, rest.find('\0'))};
}

std::optional<CharacterMap::Found> CharacterMap::shortest(std::string_view text) const {
    std::optional<Found> result;
    walk(text, [&](std::size_t length, std::uint32_t place) {
        result = found(length, place);
        return false;
    });
    return result;
}

CharacterMap::Found CharacterMap::longest(std::string_view text) const {
    std::size_t length = 0;
    std::uint32_t place = 0;
    const std::size_t steps = walk(text, [&](std::size_t bytes, std::uint32_t where) {
        length = bytes;
        place = where;
        return true;
    });
    const std::size_t one =
        std::min(text::character_length(text[0]), text.size());  // a map may stop within a character
    Found result = length > 0 ? found(length, place) : Found{one, text.substr(0, one)};
    result.steps = steps;
    return result;
}

namespace {

class CharacterMapNormalizer : public Normalizer {
   public:
    CharacterMapNormalizer(CharacterMap map, std::string named) : map_(std::move(map)), named_(std::move(named)) {}

    std::string normalize(std::string_view text) const override {
        const WorkScope work(text.size());
        const std::size_t input = text.size();
        std::string out;
        out.reserve(input);
        const auto append = [&](std::string_view part) {
            work->check_length(out.size() + part.size(), named_);
            out += part;
        };
        while (!text.empty()) {
            const std::string_view cluster = text.substr(0, text::grapheme_length(text));
            text.remove_prefix(cluster.size());
            const auto whole = cluster.size() < 6 ? map_.shortest(cluster) : std::nullopt;
            if (whole)
                append(whole->instead);
            else
                for_each_mapped(cluster, append);
        }
        work->grow(input, out.size(), named_);
        return repaired(std::move(out));
    }

   private:
    template <class Append>
    void for_each_mapped(std::string_view cluster, Append append) const {
        while (!cluster.empty()) {
            const std::string_view character = cluster.substr(0, text::character_length(cluster[0]));
            cluster.remove_prefix(character.size());
            const auto mapped = map_.shortest(character);
            append(mapped ? mapped->instead : character);
        }
    }

    // A map may point into the middle of a character.
    static std::string repaired(std::string text) {
        return text::is_valid_utf8(text) ? text : text::repaired_utf8(text);
    }

    CharacterMap map_;
    std::string named_;
};

}  // namespace

std::unique_ptr<Normalizer> character_map_normalizer(CharacterMap map, std::string named) {
    return std::make_unique<CharacterMapNormalizer>(std::move(map), std::move(named));
}

}  // namespace tessera::tokenizers
