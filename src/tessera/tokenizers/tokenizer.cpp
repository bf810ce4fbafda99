#include "tessera/tokenizers/tokenizer.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

// Valid as it is, or a repaired copy.
class ValidText {
   public:
    explicit ValidText(std::string_view text) : text_(text) {
        if (text::is_valid_utf8(text)) return;
        repaired_ = text::repaired_utf8(text);
        text_ = repaired_;
    }
    std::string_view view() const { return text_; }

   private:
    std::string repaired_;
    std::string_view text_;
};

constexpr auto keep_all = [](Ids&) {};

}  // namespace

Ids Tokenizer::encode(std::string_view text, bool with_special) const {
    Ids ids;
    ids.reserve(text.size() / 4);
    append_ids(ValidText(text).view(), ids, keep_all);
    return surround(std::move(ids), nullptr, with_special);
}

void Tokenizer::encode_in_parts(std::string_view text, FunctionRef<void(std::span<const std::int64_t>)> give,
                                bool with_special) const {
    constexpr std::int64_t here = -1;  // no token's id
    const Ids around = surround({here}, nullptr, with_special);
    if (std::count(around.begin(), around.end(), here) != 1) return give(encode(text, with_special));
    const auto place = std::find(around.begin(), around.end(), here);
    if (place != around.begin()) give(std::span(around.begin(), place));
    Ids ids;
    append_ids(ValidText(text).view(), ids, [&](Ids& found) {
        give(found);
        found.clear();
    });
    if (!ids.empty()) give(ids);
    if (place + 1 != around.end()) give(std::span(place + 1, around.end()));
}

Ids Tokenizer::encode_pair(std::string_view first, std::string_view second, bool with_special) const {
    Ids first_ids, second_ids;
    append_ids(ValidText(first).view(), first_ids, keep_all);
    append_ids(ValidText(second).view(), second_ids, keep_all);
    return surround(std::move(first_ids), &second_ids, with_special);
}

Ids Tokenizer::encode_at_most(std::string_view text, std::int64_t length, bool with_special) const {
    const auto around = static_cast<std::int64_t>(surround({}, nullptr, with_special).size());
    check(length >= around, "tokenizer: ", length, " ids have no room for the ", around, " special ones");
    Ids ids;
    append_ids(ValidText(text).view(), ids, keep_all);
    const std::int64_t excess = static_cast<std::int64_t>(ids.size()) - (length - around);
    if (excess > 0 && truncation && truncation->from_left)
        ids.erase(ids.begin(), ids.begin() + excess);
    else if (excess > 0)
        ids.resize(static_cast<std::size_t>(length - around));
    return surround(std::move(ids), nullptr, with_special);
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const {
    std::string text;
    const std::unique_ptr<TextStream> out = stream(skip_special);
    for (const std::int64_t id : ids) out->add(id, text);
    out->finish(text);
    return text;
}

}  // namespace tessera::tokenizers
