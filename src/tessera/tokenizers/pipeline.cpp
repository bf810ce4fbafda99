#include "tessera/tokenizers/pipeline.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/structures/hash.h"
#include "tessera/tokenizers/structures/word_cache.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

class Pipeline : public Tokenizer {
   public:
    explicit Pipeline(PipelineParts parts)
        : parts_(std::move(parts)), added_(std::move(parts_.added), parts_.normalizer.get()) {
        if (!parts_.decoder) parts_.decoder = join_decoder(" ");
        size_ = parts_.model->vocabulary().size();
        for (const AddedToken& token : added_.all()) {
            size_ = std::max(size_, token.id + 1);
            if (token.special) special_texts_.insert(token.content);
        }
        for (const auto* items : {&parts_.around.single, &parts_.around.pair})
            for (const SpecialTemplate::Item& item : *items)
                for (const std::int64_t id : item.ids) size_ = std::max(size_, id + 1);
    }

    std::unique_ptr<TextStream> stream(bool skip_special) const override;

    std::int64_t size() const override { return size_; }
    std::string token(std::int64_t id) const override {
        if (const AddedToken* added = added_.find(id)) return added->content;
        check(parts_.model->vocabulary().has(id), "tokenizer: no token has the id ", id);
        return std::string(parts_.model->vocabulary().token(id));
    }
    std::optional<std::int64_t> id(std::string_view token) const override {
        if (const AddedToken* added = added_.find(token)) return added->id;
        const std::int32_t found = parts_.model->vocabulary().find(token);
        return found < 0 ? std::nullopt : std::optional<std::int64_t>(found);
    }
    bool is_special(std::int64_t id) const override {
        const std::optional<std::string_view> text = decoded_token(id);
        return text && special_texts_.contains(*text);
    }

    // What the decoder gets for an id; nothing where there is no such token.
    std::optional<std::string_view> decoded_token(std::int64_t id) const {
        if (const AddedToken* added = added_.find(id)) return added->normal;
        if (!parts_.model->vocabulary().has(id)) return {};
        return parts_.model->vocabulary().token(id);
    }
    const Decoder& decoder() const { return *parts_.decoder; }

   protected:
    void append_ids(std::string_view text, Ids& out, Take take) const override {
        const WorkScope work(text.size());
        std::unique_ptr<WordCache> cache = caches_.take();
        added_.split(text, AddedTokens::Text::Raw, [&](std::size_t begin, std::size_t end, std::int64_t id) {
            if (id >= 0)
                out.push_back(id);
            else
                append_normalized({text.substr(begin, end - begin), begin == 0}, *cache, out, take);
        });
        caches_.give_back(std::move(cache));
    }

    Ids surround(Ids first, const Ids* second, bool with_special) const override {
        const auto& items = second ? parts_.around.pair : parts_.around.single;
        if (items.size() == 1 && items[0].kind == SpecialTemplate::Item::First) return first;
        Ids out;
        for (const SpecialTemplate::Item& item : items) {
            if (item.kind == SpecialTemplate::Item::Special && !with_special) continue;
            const Ids& ids = item.kind == SpecialTemplate::Item::First              ? first
                             : item.kind == SpecialTemplate::Item::Second && second ? *second
                                                                                    : item.ids;
            out.insert(out.end(), ids.begin(), ids.end());
        }
        return out;
    }

   private:
    void append_normalized(Piece piece, WordCache& cache, Ids& out, Take take) const {
        std::string normalized;
        if (parts_.normalizer && !parts_.normalizer->leaves(piece.text)) {
            normalized = parts_.normalizer->normalize(piece.text);
            piece.text = normalized;
        }
        if (piece.text.empty()) return;
        if (!added_.any(AddedTokens::Text::Normalized)) return append_words(piece, cache, out, take);
        added_.split(piece.text, AddedTokens::Text::Normalized,
                     [&](std::size_t begin, std::size_t end, std::int64_t id) {
                         if (id >= 0)
                             out.push_back(id);
                         else
                             append_words({piece.text.substr(begin, end - begin), piece.at_start && begin == 0}, cache,
                                          out, take);
                     });
    }

    void append_words(Piece piece, WordCache& cache, Ids& out, Take take) const {
        const auto append = [&](Piece word) {
            if (word.text.empty()) return;
            const auto append_part = [&](std::string_view part) {
                check_word(part);
                cache.append(part, out, [&] { parts_.model->encode(part, out); });
                if (out.size() >= much) take(out);
            };
            if (word.text.size() > WordCache::longest_word)
                parts_.model->cut(word.text, append_part);
            else
                append_part(word.text);
        };
        if (parts_.pre_tokenizer)
            parts_.pre_tokenizer->split(piece, append);
        else
            append(piece);
    }

    PipelineParts parts_;
    AddedTokens added_;
    std::unordered_set<std::string, SeededHash, std::equal_to<>> special_texts_;
    std::int64_t size_ = 0;
    mutable WordCaches caches_;
};

class TextStage : public DecodeStage {
   public:
    explicit TextStage(std::string*& out) : out_(out) {}
    void text(std::string_view part) override { *out_ += part; }
    void end_token() override {}
    void finish() override {}

   private:
    std::string*& out_;
};

class PipelineStream : public TextStream {
   public:
    PipelineStream(const Pipeline& pipeline, bool skip_special)
        : pipeline_(pipeline),
          skip_special_(skip_special),
          stage_(pipeline.decoder().start(std::make_unique<TextStage>(out_))) {}

    void add(std::int64_t id, std::string& out) override {
        const std::optional<std::string_view> token = pipeline_.decoded_token(id);
        if (!token || (skip_special_ && pipeline_.is_special(id))) return;
        out_ = &out;
        work_.allow(token->size());
        const WorkScope scope(work_);
        stage_->text(*token);
        stage_->end_token();
    }
    void finish(std::string& out) override {
        out_ = &out;
        const WorkScope scope(work_);
        stage_->finish();
    }

   private:
    const Pipeline& pipeline_;
    bool skip_special_;
    std::string* out_ = nullptr;
    TextWork work_{0};
    std::unique_ptr<DecodeStage> stage_;
};

std::unique_ptr<TextStream> Pipeline::stream(bool skip_special) const {
    return std::make_unique<PipelineStream>(*this, skip_special);
}

}  // namespace

std::shared_ptr<Tokenizer> make_pipeline(PipelineParts parts) { return std::make_shared<Pipeline>(std::move(parts)); }

}  // namespace tessera::tokenizers
