#include "tessera/tokenizers/training/word_list.h"

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/training/trained_tokenizer.h"
#include "tessera/tokenizers/training/word_counts.h"

namespace tessera::tokenizers {

WordList::WordList(std::vector<std::string> first) {
    for (std::string& word : first)
        if (ids_.try_emplace(word, size()).second) words_.push_back(std::move(word));
}

Ids WordList::encode(std::string_view text) {
    const std::string valid = text::repaired_utf8(text);
    const std::unique_ptr<PreTokenizer> words = word_splitter();
    Ids ids;
    words->split({valid, true}, [&](Piece piece) {
        const auto [place, is_new] = ids_.try_emplace(std::string(piece.text), size());
        if (is_new) words_.emplace_back(piece.text);
        ids.push_back(place->second);
    });
    return ids;
}

std::string WordList::decode(std::span<const std::int64_t> ids) const {
    std::string text;
    for (const std::int64_t id : ids) {
        check(id >= 0 && id < size(), "words: the id ", id, " is outside 0 … ", size() - 1);
        if (!text.empty()) text += ' ';
        text += words_[static_cast<std::size_t>(id)];
    }
    return text;
}

}  // namespace tessera::tokenizers
