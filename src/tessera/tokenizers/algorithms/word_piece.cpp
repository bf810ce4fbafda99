#include "tessera/tokenizers/algorithms/word_piece.h"

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/limits.h"
#include "tessera/tokenizers/structures/token_matcher.h"

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
        check(options.continuing_prefix.size() <= limits::longest_affix, source,
              ": model.continuing_subword_prefix: longer than ", limits::longest_affix, " bytes");
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
        const std::size_t before = out.size();
        if (text::character_count(word) <= options_.longest_word && append_tokens(word, out)) return;
        out.resize(before);
        out.push_back(unknown_.id());
    }

    const Vocabulary& vocabulary() const override { return vocabulary_; }

   private:
    // Whether there was a token at every place.
    bool append_tokens(std::string_view word, Ids& out) const {
        Trie::Match found;
        first_.longest_prefix(word, found);
        LongestTokens later(later_, word);
        for (std::size_t at = 0; found.length > 0;) {
            out.push_back(found.value);
            at += found.length;
            if (at == word.size()) return true;
            found = later.at(at);
        }
        return false;
    }

    Vocabulary vocabulary_;
    WordPieceOptions options_;
    Unknown unknown_;
    Trie first_;
    TokenMatcher later_;
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
