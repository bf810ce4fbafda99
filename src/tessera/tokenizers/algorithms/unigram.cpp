#include "tessera/tokenizers/algorithms/unigram.h"

#include <algorithm>
#include <array>

#include "tessera/core/error.h"
#include "tessera/tokenizers/algorithms/best_path.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"

namespace tessera::tokenizers {
namespace {

constexpr double unknown_penalty = 10;

class Unigram : public Model {
   public:
    Unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramOptions& options, const std::string& source)
        : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), options_(options), source_(source) {
        check(!options.unknown || (*options.unknown >= 0 && *options.unknown < vocabulary_.size()), source,
              ": model.unk_id: ", options.unknown.value_or(0), " is outside the vocabulary of ", vocabulary_.size());
        for (std::int64_t id = 0; id < vocabulary_.size(); ++id) {
            const std::string_view token = vocabulary_.token(id);
            tokens_.add(token, static_cast<std::uint32_t>(vocabulary_.find(token)));
        }
        if (!scores_.empty()) unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - unknown_penalty;
        bytes_ = byte_pieces(vocabulary_);
    }

    void encode(std::string_view word, Ids& out) const override {
        std::string_view unknown;  // neighbours together
        for_each_on_best_path<double>(
            tokens_, word, source_,
            [&](double so_far, std::uint32_t id, std::size_t) { return std::optional(scores_[id] + so_far); },
            [&](double so_far) {
                check(options_.unknown.has_value(), source_,
                      ": model.unk_id is missing, and the text has a character "
                      "outside the vocabulary");
                return std::pair(unknown_score_ + so_far, static_cast<std::uint32_t>(*options_.unknown));
            },
            [&](std::size_t begin, std::size_t end, std::uint32_t id) {
                if (options_.unknown && id == static_cast<std::uint32_t>(*options_.unknown)) {
                    unknown = word.substr(begin - unknown.size(), end - begin + unknown.size());
                    return;
                }
                append_unknown(unknown, out);
                unknown = {};
                out.push_back(id);
            });
        append_unknown(unknown, out);
    }

    const Vocabulary& vocabulary() const override { return vocabulary_; }

   private:
    void append_unknown(std::string_view text, Ids& out) const {
        if (text.empty()) return;
        const std::int32_t id = vocabulary_.find(text);
        if (id < 0 && options_.byte_fallback &&
            std::all_of(text.begin(), text.end(), [&](char c) { return bytes_[static_cast<unsigned char>(c)] >= 0; }))
            for (const char c : text) out.push_back(bytes_[static_cast<unsigned char>(c)]);
        else
            out.push_back(id >= 0 ? id : *options_.unknown);
    }

    Vocabulary vocabulary_;
    std::vector<double> scores_;
    UnigramOptions options_;
    std::string source_;
    TokenMatcher tokens_;
    double unknown_score_ = 0;
    std::array<std::int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<Model> make_unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramOptions& options,
                                    const std::string& source) {
    check(static_cast<std::int64_t>(scores.size()) == vocabulary.size(), source, ": ", scores.size(), " scores for ",
          vocabulary.size(), " tokens");
    return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), options, source);
}

}  // namespace tessera::tokenizers
