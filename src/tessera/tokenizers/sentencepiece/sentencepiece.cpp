#include "tessera/tokenizers/sentencepiece/sentencepiece.h"

#include <algorithm>
#include <cfloat>
#include <optional>
#include <unordered_map>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/algorithms/best_path.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/sentencepiece/scored_bpe.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece_normalizer.h"
#include "tessera/tokenizers/structures/adjacent_pairs.h"
#include "tessera/tokenizers/structures/vocabulary.h"
#include "tessera/tokenizers/structures/word_cache.h"

namespace tessera::tokenizers {
namespace {

constexpr float unknown_penalty = 10;
using Kind = SentencePieceFile::Kind;

class SentencePiece : public Tokenizer {
   public:
    SentencePiece(SentencePieceFile file, SentencePieceOptions options, const std::string& source)
        : file_(std::move(file)),
          options_(std::move(options)),
          source_(source),
          added_(std::move(options_.added), nullptr),
          normalizer_(file_, source) {
        for (std::size_t i = 0; i < file_.pieces.size(); ++i) add_piece(i);
        size_ = static_cast<std::int64_t>(file_.pieces.size());
        for (const AddedToken& token : added_.all()) size_ = std::max(size_, token.id + 1);
        const auto role = [](std::int64_t id) { return id < 0 ? std::nullopt : std::optional(id); };
        special = {
            .bos = role(file_.bos), .eos = role(file_.eos), .unknown = file_.unknown, .padding = role(file_.padding)};
    }

    std::unique_ptr<TextStream> stream(bool skip_special) const override;
    std::int64_t size() const override { return size_; }
    std::string token(std::int64_t id) const override {
        if (const AddedToken* added = added_.find(id)) return added->content;
        check(has_piece(id), "tokenizer: no token has the id ", id);
        return piece(id).text;
    }
    std::optional<std::int64_t> id(std::string_view token) const override {
        if (const AddedToken* added = added_.find(token)) return added->id;
        for (const Vocabulary* pieces : {&reserved_, &pieces_})
            if (const std::int32_t found = pieces->find(token); found >= 0) return found;
        return {};
    }
    bool is_special(std::int64_t id) const override {
        if (const AddedToken* added = added_.find(id)) return added->special;
        return has_piece(id) && (piece(id).kind == Kind::Control || piece(id).kind == Kind::Unknown);
    }

    bool has_piece(std::int64_t id) const { return id >= 0 && id < static_cast<std::int64_t>(file_.pieces.size()); }
    const SentencePieceFile::Piece& piece(std::int64_t id) const { return file_.pieces[static_cast<std::size_t>(id)]; }
    const SentencePieceFile& file() const { return file_; }
    const AddedTokens& added() const { return added_; }

   protected:
    void append_ids(std::string_view text, Ids& out, Take take) const override {
        const WorkScope work(text.size());
        added_.split(text, AddedTokens::Text::Raw, [&](std::size_t begin, std::size_t end, std::int64_t id) {
            if (id >= 0)
                out.push_back(id);
            else
                append_part(
                    normalizer_.normalize(text.substr(begin, end - begin), begin == 0 || options_.prefix_every_part),
                    out, take);
        });
    }

    Ids surround(Ids first, const Ids* second, bool with_special) const override {
        if (!second && !with_special) return first;
        Ids out;
        if (with_special && options_.add_bos && file_.bos >= 0) out.push_back(file_.bos);
        out.insert(out.end(), first.begin(), first.end());
        if (with_special && options_.add_eos && file_.eos >= 0) out.push_back(file_.eos);
        if (!second) return out;
        const Ids rest = surround(*second, nullptr, with_special);
        out.insert(out.end(), rest.begin(), rest.end());
        return out;
    }

   private:
    void add_piece(std::size_t i) {
        const auto& [text, score, kind] = file_.pieces[i];
        const auto id = static_cast<std::int64_t>(i);
        if (kind == Kind::Normal || kind == Kind::UserDefined || kind == Kind::Unused) {
            pieces_.add(text, id);
            if (file_.algorithm == SentencePieceFile::Algorithm::Bpe)
                pairs_.add(text);
            else
                tokens_.add(text, static_cast<std::uint32_t>(i));
        } else {
            reserved_.add(text, id);
        }
        if (kind == Kind::Normal) {
            lowest_ = std::min(lowest_, score);
            highest_ = std::max(highest_, score);
        }
        if (kind == Kind::Byte) bytes_[static_cast<unsigned char>(*byte_of_piece(text))] = static_cast<std::int32_t>(i);
    }

    void append_part(std::string_view text, Ids& out, Take take) const {
        auto first = static_cast<std::ptrdiff_t>(out.size());
        const auto append = [&](std::string_view piece_text, std::int64_t id) {
            if (id == file_.unknown && file_.byte_fallback)
                for (const char c : piece_text) out.push_back(bytes_[static_cast<unsigned char>(c)]);
            else
                out.push_back(id);
        };
        // A run of unknown pieces is one.
        const auto join_unknown = [&] {
            out.erase(std::unique(out.begin() + first, out.end(),
                                  [&](std::int64_t a, std::int64_t b) { return a == b && a == file_.unknown; }),
                      out.end());
        };
        const auto appended = [&] {
            if (out.size() < much || out.back() == file_.unknown) return;
            join_unknown();
            take(out);
            first = static_cast<std::ptrdiff_t>(out.size());
        };
        if (file_.algorithm == SentencePieceFile::Algorithm::Bpe)
            append_merged(text, append, appended, out);
        else
            for_each_best(text, append, appended);
        join_unknown();
    }

    // By parts that no piece reaches across, most of which were seen before.
    template <class Append, class Appended>
    void append_merged(std::string_view text, Append append, Appended appended, Ids& out) const {
        std::unique_ptr<WordCache> cache = caches_.take();
        std::size_t begin = 0;
        const auto part = [&](std::size_t end) {
            const std::string_view word = text.substr(begin, end - begin);
            check_word(word);
            if (!word.empty()) cache->append(word, out, [&] { for_each_merged(word, append); });
            appended();
            begin = end;
        };
        AdjacentPairs::for_each_pair(text, [&](char32_t left, char32_t right, std::size_t at) {
            if (!pairs_.has(left, right)) part(at);
        });
        part(text.size());
        caches_.give_back(std::move(cache));
    }

    template <class Append>
    void for_each_merged(std::string_view text, Append append) const {
        std::vector<ScoredSymbol> symbols;
        symbols.reserve(text.size());
        LongestTokens user_defined(normalizer_.user_defined(), text);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t whole = user_defined.at(at).length;
            const std::size_t length = whole ? whole : text::character_length(text[at]);
            symbols.push_back({text.substr(at, length), whole > 0});
            at += length;
        }
        std::unordered_map<std::int32_t, std::size_t> unused;  // how an unused piece came about: its left part's bytes
        const auto texts = merge_by_score(
            symbols, pieces_.longest(),
            [&](std::string_view joined) -> ScoredPiece {
                const std::int32_t id = pieces_.find(joined);
                return {id, id < 0 ? 0 : piece(id).score};
            },
            [&](std::int32_t id, std::size_t left) {
                if (piece(id).kind == Kind::Unused) unused[id] = left;
            });
        for (const std::string_view merged : texts) append_used(merged, unused, append);
    }

    // An unused piece is what it was merged from, part by part.
    template <class Append>
    void append_used(std::string_view whole, const std::unordered_map<std::int32_t, std::size_t>& unused,
                     Append append) const {
        std::vector<std::string_view> waiting = {whole};
        while (!waiting.empty()) {
            const std::string_view text = waiting.back();
            waiting.pop_back();
            const std::int64_t id = id_of(text);
            const auto parts = unused.find(static_cast<std::int32_t>(id));
            if (piece(id).kind != Kind::Unused || parts == unused.end()) {
                append(text, id);
                continue;
            }
            waiting.push_back(text.substr(parts->second));
            waiting.push_back(text.substr(0, parts->second));
        }
    }

    std::int64_t id_of(std::string_view text) const {
        for (const Vocabulary* pieces : {&reserved_, &pieces_})
            if (const std::int32_t found = pieces->find(text); found >= 0) return found;
        return file_.unknown;
    }

    // The best way to cut the text, in single precision as the reference adds it up.
    template <class Append, class Appended>
    void for_each_best(std::string_view text, Append append, Appended appended) const {
        for_each_on_best_path<float>(
            tokens_, text, source_,
            [&](float so_far, std::uint32_t id, std::size_t length) -> std::optional<float> {
                if (piece(id).kind == Kind::Unused) return {};
                const double score = piece(id).kind == Kind::UserDefined
                                         ? static_cast<double>(static_cast<float>(length) * highest_) - 0.1
                                         : static_cast<double>(piece(id).score);
                return static_cast<float>(score + static_cast<double>(so_far));
            },
            [&](float so_far) {
                return std::pair((lowest_ - unknown_penalty) + so_far, static_cast<std::uint32_t>(file_.unknown));
            },
            [&](std::size_t begin, std::size_t end, std::uint32_t id) {
                append(text.substr(begin, end - begin), id);
                appended();
            });
    }

    SentencePieceFile file_;
    SentencePieceOptions options_;
    std::string source_;
    AddedTokens added_;
    SentencePieceNormalizer normalizer_;
    Vocabulary pieces_, reserved_;  // what text can be cut into, and the others
    AdjacentPairs pairs_;           // for BPE
    TokenMatcher tokens_;           // for the unigram model
    mutable WordCaches caches_;
    float lowest_ = FLT_MAX, highest_ = FLT_MIN;
    std::array<std::int32_t, 256> bytes_{};
    std::int64_t size_ = 0;
};

class SentencePieceStream : public TextStream {
   public:
    SentencePieceStream(const SentencePiece& pieces, bool skip_special)
        : pieces_(pieces), skip_special_(skip_special) {}

    void add(std::int64_t id, std::string& out) override {
        if (skip_special_ && pieces_.is_special(id)) return;
        const AddedToken* added = pieces_.added().find(id);
        if (!added && !pieces_.has_piece(id)) return;
        const std::size_t before = out.size();
        if (!added && pieces_.piece(id).kind == Kind::Byte) {
            bytes_ += *byte_of_piece(pieces_.piece(id).text);
            give_bytes(out, false);
        } else {
            give_bytes(out, true);
            any_ = any_ || out.size() > before;
            if (begun_ || any_) at_start_ = false;
            out += added ? (begun_ = false, added->content) : decoded(pieces_.piece(id));
        }
        any_ = any_ || out.size() > before;
    }

    void finish(std::string& out) override { give_bytes(out, true); }

   private:
    // Whole characters of the run of bytes; at its end, each byte that belongs to none as U+FFFD.
    void give_bytes(std::string& out, bool end) {
        std::string_view bytes = bytes_;
        while (!bytes.empty()) {
            const text::Utf8Step step = text::utf8_step(bytes);
            if (step.kind == text::Utf8Step::Cut && !end) break;
            const std::size_t length = step.kind == text::Utf8Step::Whole ? step.length : 1;
            out += step.kind == text::Utf8Step::Whole ? bytes.substr(0, length) : text::replacement_character;
            bytes.remove_prefix(length);
        }
        bytes_ = std::string(bytes);
    }

    std::string decoded(const SentencePieceFile::Piece& piece) {
        const SentencePieceFile& file = pieces_.file();
        begun_ = false;
        if (piece.kind == Kind::Control) return {};
        if (piece.kind == Kind::Unknown) return file.unknown_surface;
        std::string_view text = piece.text;
        if (at_start_ && (file.add_dummy_prefix || file.remove_extra_spaces) && text.starts_with(file.space)) {
            text.remove_prefix(file.space.size());
            begun_ = !file.remove_extra_spaces;  // all spaces at the start go, or just the first
        }
        std::string out;
        for (std::size_t at; (at = text.find(file.space)) != std::string_view::npos;) {
            out.append(text.substr(0, at)).append(" ");
            text.remove_prefix(at + file.space.size());
        }
        return out.append(text);
    }

    const SentencePiece& pieces_;
    bool skip_special_;
    std::string bytes_;  // of the run of byte pieces, what is not given yet
    bool at_start_ = true, begun_ = false, any_ = false;
};

std::unique_ptr<TextStream> SentencePiece::stream(bool skip_special) const {
    return std::make_unique<SentencePieceStream>(*this, skip_special);
}

}  // namespace

std::shared_ptr<Tokenizer> make_sentencepiece(SentencePieceFile file, SentencePieceOptions options,
                                              const std::string& source) {
    return std::make_shared<SentencePiece>(std::move(file), std::move(options), source);
}

}  // namespace tessera::tokenizers
