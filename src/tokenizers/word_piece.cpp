#include "tokenizers/word_piece.h"

#include <algorithm>

#include "core/error.h"
#include "formats/byte_reader.h"
#include "tokenizers/trie.h"

namespace tessera::tokenizers {
namespace {

// A vocabulary without a token for what is unknown is an error only once such a word comes.
class Unknown {
   public:
    Unknown(const Vocabulary& vocabulary, const std::string& token, const std::string& source)
        : id_(vocabulary.find(token)),
          complaint_(text_of(source, ": model.unk_token: ", formats::shown(token), " is not in the vocabulary")) {}
    std::int64_t id() const {
        check(id_ >= 0, complaint_);
        return id_;
    }

   private:
    std::int32_t id_;
    std::string complaint_;
};

class WordPiece : public Model {
   public:
    WordPiece(Vocabulary vocabulary, const WordPieceOptions& options, const std::string& source)
        : vocabulary_(std::move(vocabulary)), options_(options), unknown_(vocabulary_, options.unknown, source) {
        for (std::int64_t id = 0; id < vocabulary_.size(); ++id) {
            if (!vocabulary_.has(id)) continue;
            const std::string_view token = vocabulary_.token(id);
            const auto value = static_cast<std::uint32_t>(vocabulary_.find(token));
            first_.add(token, value);
            if (token.starts_with(options_.continuing_prefix))
                later_.add(token.substr(options_.continuing_prefix.size()), value);
        }
    }

    void encode(std::string_view word, Ids& out) const override {
        const auto characters = static_cast<std::size_t>(
            std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xC0) != 0x80; }));
        const std::size_t before = out.size();
        for (std::size_t at = 0; at < word.size() && characters <= options_.longest_word;) {
            const std::size_t end = longest_token(word, at, out);
            if (end == at) break;
            at = end;
            if (at == word.size()) return;
        }
        out.resize(before);
        out.push_back(unknown_.id());
    }

    const Vocabulary& vocabulary() const override { return vocabulary_; }

   private:
    // Where the longest token at this place ends; its id is appended.
    std::size_t longest_token(std::string_view word, std::size_t at, Ids& out) const {
        const Trie& trie = at == 0 ? first_ : later_;
        std::uint32_t node = Trie::root, found = Trie::none;
        std::size_t end = at;
        for (std::size_t i = at; i < word.size(); ++i) {
            node = trie.step(node, static_cast<unsigned char>(word[i]));
            if (node == Trie::none) break;
            if (trie.value(node) == Trie::none) continue;
            found = trie.value(node);
            end = i + 1;
        }
        if (found != Trie::none) out.push_back(found);
        return end;
    }

    Vocabulary vocabulary_;
    WordPieceOptions options_;
    Unknown unknown_;
    Trie first_, later_;
};

class WordLevel : public Model {
   public:
    WordLevel(Vocabulary vocabulary, const std::string& unknown, const std::string& source)
        : vocabulary_(std::move(vocabulary)), unknown_(vocabulary_, unknown, source) {}

    void encode(std::string_view word, Ids& out) const override {
        const std::int32_t id = vocabulary_.find(word);
        out.push_back(id >= 0 ? id : unknown_.id());
    }
    const Vocabulary& vocabulary() const override { return vocabulary_; }

   private:
    Vocabulary vocabulary_;
    Unknown unknown_;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(Vocabulary vocabulary, const WordPieceOptions& options,
                                       const std::string& source) {
    return std::make_unique<WordPiece>(std::move(vocabulary), options, source);
}

std::unique_ptr<Model> make_word_level(Vocabulary vocabulary, const std::string& unknown, const std::string& source) {
    return std::make_unique<WordLevel>(std::move(vocabulary), unknown, source);
}

}  // namespace tessera::tokenizers
