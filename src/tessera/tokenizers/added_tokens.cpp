#include "tessera/tokenizers/added_tokens.h"

#include <algorithm>

#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    const auto word_at = [&](std::size_t at) { return text::is_word_character(text::character_at(text.data() + at)); };
    return (begin == 0 || !word_at(text::character_before(text, begin))) && (end == text.size() || !word_at(end));
}

std::size_t without_spaces_before(std::string_view text, std::size_t begin, std::size_t limit) {
    while (begin > limit) {
        const std::size_t before = text::character_before(text, begin);
        if (!text::is_space(text::character_at(text.data() + before))) break;
        begin = before;
    }
    return std::max(begin, limit);
}

// Where spaces end, asked of places that never go back: a run of them is walked through once.
class PastSpaces {
   public:
    explicit PastSpaces(std::string_view text) : text_(text) {}
    std::size_t operator()(std::size_t at) {
        if (at < begin_ || at > end_) begin_ = end_ = at;
        while (end_ < text_.size() && text::is_space(text::character_at(text_.data() + end_)))
            end_ += text::character_length(text_[end_]);
        return end_;
    }

   private:
    std::string_view text_;
    std::size_t begin_ = 0, end_ = 0;
};

}  // namespace

void AddedTokens::Matcher::add(std::string_view text, std::uint32_t value) {
    tokens.add(text, value);
    one_first = empty || (one_first && text[0] == first);
    first = text[0];
    empty = false;
}

std::size_t AddedTokens::Matcher::next(std::string_view text, std::size_t at) const {
    if (one_first) return std::min(text.find(first, at), text.size());
    while (at < text.size() && !tokens.trie().any_begins_with(text[at])) ++at;
    return at;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer) {
    TextWork work(0);
    const WorkScope scope(work);
    for (AddedToken& token : tokens) {
        if (token.content.empty()) continue;
        work.allow(token.content.size());
        token.normal = token.normalized && normalizer ? normalizer->normalize(token.content) : token.content;
        const auto [place, fresh] = by_id_.try_emplace(token.id, static_cast<std::uint32_t>(tokens_.size()));
        if (fresh)
            tokens_.push_back(std::move(token));
        else
            tokens_[place->second] = std::move(token);
    }
    for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
        by_content_.try_emplace(tokens_[i].content, i);
        if (tokens_[i].normal.empty()) continue;
        Matcher& matcher = tokens_[i].normalized ? normalized_ : raw_;
        matcher.add(tokens_[i].normal, i);
    }
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto found = by_content_.find(content);
    return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

void AddedTokens::split(std::string_view text, Text kind,
                        FunctionRef<void(std::size_t, std::size_t, std::int64_t)> give) const {
    const Matcher& matcher = kind == Text::Raw ? raw_ : normalized_;
    LongestTokens longest(matcher.tokens, text);
    PastSpaces past_spaces(text);
    std::size_t done = 0;
    for (std::size_t at = 0; !matcher.empty;) {
        at = matcher.next(text, at);
        if (at == text.size()) break;
        const Trie::Match found = longest.at(at);
        if (found.length == 0) {
            ++at;
            continue;
        }
        const AddedToken& token = tokens_[found.value];
        std::size_t begin = at, end = at + found.length;
        at = end;
        if (token.single_word && !stands_alone(text, begin, end)) continue;
        if (token.left_strip) begin = without_spaces_before(text, begin, done);
        if (token.right_strip) end = past_spaces(end);
        if (done < begin) give(done, begin, -1);
        give(begin, end, token.id);
        done = end;
    }
    if (done < text.size()) give(done, text.size(), -1);
}

}  // namespace tessera::tokenizers
