// Beam search against an exhaustive search and against a plain search over whole texts.
#include "tessera/inference/beam_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "tessera/core/random.h"
#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"

namespace tessera::inference {
namespace {

using Ids = std::vector<std::int64_t>;

// Scores that depend on all tokens so far, and on which text it is.
std::vector<float> scores_after(const Ids& ids, std::int64_t vocabulary) {
    std::uint64_t stream = 0;
    for (const std::int64_t id : ids) stream = stream * 31 + static_cast<std::uint64_t>(id) + 1;
    std::vector<float> scores;
    for (std::int64_t v = 0; v < vocabulary; ++v)
        scores.push_back(3 * uniform(random_bits({11, stream}, static_cast<std::uint64_t>(v))));
    return scores;
}

class FakeSession : public models::DecodingSession {
   public:
    FakeSession(std::vector<Ids> rows, std::int64_t vocabulary) : rows_(std::move(rows)), vocabulary_(vocabulary) {}
    Tensor prefill(const models::Batch&) override { return scores(); }
    Tensor step(const Tensor& ids) override {
        const Ids next = ids.to_vector<std::int64_t>();
        EXPECT_EQ(next.size(), rows_.size());
        for (std::size_t i = 0; i < next.size(); ++i) rows_[i].push_back(next[i]);
        return scores();
    }
    void reorder(std::span<const std::int64_t> rows) override {
        std::vector<Ids> after;
        for (const std::int64_t row : rows) after.push_back(rows_.at(static_cast<std::size_t>(row)));
        rows_ = after;
    }
    std::int64_t cache_bytes() const override { return 0; }

    Tensor scores() const {
        std::vector<float> all;
        for (const Ids& row : rows_)
            for (const float score : scores_after(row, vocabulary_)) all.push_back(score);
        return Tensor::from(all, {static_cast<std::int64_t>(rows_.size()), vocabulary_});
    }

   private:
    std::vector<Ids> rows_;
    std::int64_t vocabulary_;
};

BeamResult search(const std::vector<Ids>& prompts, std::int64_t vocabulary, const BeamOptions& options) {
    FakeSession session(prompts, vocabulary);
    std::vector<History> histories;
    for (const Ids& prompt : prompts) histories.push_back({prompt, prompt.size()});
    return beam_search(session, session.prefill({}), histories, 0, options);
}

std::vector<double> log_softmax(const std::vector<float>& scores) {
    double total = 0;
    for (const float score : scores) total += std::exp(static_cast<double>(score));
    std::vector<double> out;
    for (const float score : scores) out.push_back(score - std::log(total));
    return out;
}

// Every text that ends with a stop id or at the limit.
void all_texts(const Ids& prompt, const Ids& text, double sum, std::int64_t vocabulary, const BeamOptions& options,
               std::map<Ids, double>& found) {
    Ids whole = prompt;
    whole.insert(whole.end(), text.begin(), text.end());
    const std::vector<double> log_p = log_softmax(scores_after(whole, vocabulary));
    for (std::int64_t v = 0; v < vocabulary; ++v) {
        Ids longer = text;
        longer.push_back(v);
        const double score = sum + log_p[static_cast<std::size_t>(v)];
        const bool ends = std::count(options.stop_ids.begin(), options.stop_ids.end(), v) > 0 ||
                          static_cast<std::int64_t>(longer.size()) == options.max_new_tokens;
        if (ends)
            found[longer] = score / std::pow(static_cast<double>(longer.size()), options.beams.length_penalty);
        else
            all_texts(prompt, longer, score, vocabulary, options, found);
    }
}

TEST(BeamSearch, WithManyBeamsFindsTheBestOfAllTexts) {
    for (const double penalty : {0.0, 1.0, 2.0, -0.5})
        for (const Ids& stops : {Ids{0}, Ids{1, 3}, Ids{}}) {
            // So many beams that nothing is ever dropped: 4 + 4² + 4³ texts at most.
            const BeamOptions options{.beams = {.count = 90,
                                                .length_penalty = penalty,
                                                .early_stopping = models::EarlyStopping::Never,
                                                .returned = 3},
                                      .max_new_tokens = 3,
                                      .stop_ids = stops};
            const std::vector<Ids> prompts{{2}, {5, 1}};
            const BeamResult result = search(prompts, 4, options);
            for (std::size_t row = 0; row < prompts.size(); ++row) {
                std::map<Ids, double> every;
                all_texts(prompts[row], {}, 0, 4, options, every);
                std::vector<std::pair<double, Ids>> best;
                for (const auto& [text, score] : every) best.emplace_back(score, text);
                std::sort(best.rbegin(), best.rend());
                ASSERT_EQ(result.texts[row].size(), 3u);
                for (std::size_t i = 0; i < 3; ++i) {
                    EXPECT_EQ(result.texts[row][i].tokens, best[i].second) << penalty << " " << i;
                    EXPECT_NEAR(result.texts[row][i].score, best[i].first, 1e-5);
                }
            }
        }
}

// The same search over whole texts, as its definition reads: no rows, no caches, no reordering.
std::vector<std::pair<double, Ids>> plain_search(const Ids& prompt, std::int64_t vocabulary,
                                                 const BeamOptions& options) {
    const auto beams = static_cast<std::size_t>(options.beams.count);
    std::vector<std::pair<double, Ids>> running{{0, {}}}, finished;
    for (std::int64_t length = 1; length <= options.max_new_tokens; ++length) {
        std::vector<std::pair<double, Ids>> next;
        for (const auto& [score, text] : running) {
            Ids whole = prompt;
            whole.insert(whole.end(), text.begin(), text.end());
            const std::vector<double> log_p = log_softmax(scores_after(whole, vocabulary));
            for (std::int64_t v = 0; v < vocabulary; ++v) {
                Ids longer = text;
                longer.push_back(v);
                next.emplace_back(score + log_p[static_cast<std::size_t>(v)], longer);
            }
        }
        std::sort(next.rbegin(), next.rend());
        running.clear();
        const bool was_full = finished.size() >= beams;
        for (std::size_t rank = 0; rank < next.size(); ++rank) {
            const auto& [score, text] = next[rank];
            const bool is_stop = std::count(options.stop_ids.begin(), options.stop_ids.end(), text.back()) > 0;
            const bool ends = is_stop || length == options.max_new_tokens;
            const bool counts =
                rank < beams && !(was_full && options.beams.early_stopping == models::EarlyStopping::WhenFull);
            if (ends && counts)
                finished.emplace_back(score / std::pow(static_cast<double>(length), options.beams.length_penalty),
                                      text);
            if (!ends && running.size() < beams) running.push_back(next[rank]);
        }
        std::sort(finished.rbegin(), finished.rend());
        finished.resize(std::min(finished.size(), beams));
        if (finished.size() < beams || running.empty()) continue;
        if (options.beams.early_stopping == models::EarlyStopping::WhenFull) break;
        const bool may_grow =
            options.beams.early_stopping == models::EarlyStopping::Never && options.beams.length_penalty > 0;
        const double longest = static_cast<double>(may_grow ? options.max_new_tokens : length);
        if (running[0].first / std::pow(longest, options.beams.length_penalty) <= finished.back().first) break;
    }
    return finished;
}

TEST(BeamSearch, EqualsAPlainSearchOverWholeTexts) {
    for (const std::int64_t count : {1, 2, 3, 5})
        for (const double penalty : {0.0, 0.6, 1.0, 2.0})
            for (const auto early :
                 {models::EarlyStopping::Heuristic, models::EarlyStopping::WhenFull, models::EarlyStopping::Never}) {
                const BeamOptions options{
                    .beams = {.count = count, .length_penalty = penalty, .early_stopping = early, .returned = count},
                    .max_new_tokens = 9,
                    .stop_ids = {0, 7}};
                const std::vector<Ids> prompts{{1}, {2, 3}, {4}};
                const BeamResult result = search(prompts, 12, options);
                for (std::size_t row = 0; row < prompts.size(); ++row) {
                    const auto expected = plain_search(prompts[row], 12, options);
                    ASSERT_EQ(result.texts[row].size(), expected.size());
                    for (std::size_t i = 0; i < expected.size(); ++i) {
                        EXPECT_EQ(result.texts[row][i].tokens, expected[i].second);
                        EXPECT_NEAR(result.texts[row][i].score, expected[i].first, 1e-5);
                    }
                }
            }
}

TEST(BeamSearch, OneBeamIsGreedyWithEveryKindOfModel) {
    for (const char* name : {"llama", "mistral-w5", "deepseek-v2", "t5", "bart", "marian-original-transformer"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(testing::golden_path(name));
        const models::Batch prompt = batch_of({{5, 17, 42, 9, 11, 23, 8}});
        const auto greedy = generate(*model, prompt, {.max_new_tokens = 8}).tokens[0];
        const BeamResult result = beam_search(*model, prompt, {.max_new_tokens = 8});
        EXPECT_EQ(result.texts[0][0].tokens, greedy);
    }
}

// Σ log p of a text by a pass without any cache.
double score_of(const models::Model& model, models::Batch batch, const Ids& text, std::int64_t start) {
    const NoGrad no_grad;
    Ids decoder{start};
    decoder.insert(decoder.end(), text.begin(), text.end() - 1);
    batch.decoder_input_ids = Tensor::from(decoder, {1, static_cast<std::int64_t>(decoder.size())});
    const Tensor log_p = ops::log_softmax(model.forward(batch));
    const std::vector<double> values = log_p.to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        sum += values[i * static_cast<std::size_t>(log_p.size(2)) + static_cast<std::size_t>(text[i])];
    return sum;
}

TEST(BeamSearch, CachesFollowTheBeamsAndRowsAreIndependent) {
    for (const char* name : {"t5", "bart", "marian-original-transformer"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(testing::golden_path(name));
        const std::vector<Ids> prompts{{5, 17, 42, 9}, {7, 8}};
        const BeamOptions options{.beams = {.count = 4, .length_penalty = 0, .returned = 4},
                                  .max_new_tokens = 7,
                                  .stop_ids = {3, 4, 5, 6, 7, 8, 9}};
        const BeamResult together = beam_search(*model, batch_of(prompts, 1, Side::Right), options);
        const std::int64_t start = model->config.integer("decoder_start_token_id", 0);
        for (std::size_t row = 0; row < prompts.size(); ++row) {
            const models::Batch alone = batch_of({prompts[row]});
            const BeamResult single = beam_search(*model, alone, options);
            for (std::size_t i = 0; i < 4; ++i) {
                EXPECT_EQ(together.texts[row][i].tokens, single.texts[0][i].tokens);
                EXPECT_NEAR(single.texts[0][i].score, score_of(*model, alone, single.texts[0][i].tokens, start), 1e-3);
            }
        }
    }
}

TEST(BeamSearch, RulesHoldForEveryBeam) {
    const BeamOptions options{
        .beams = {.count = 3, .returned = 3},
        .max_new_tokens = 6,
        .rules = {.no_repeat_ngram = 1, .suppressed = {5}, .forced_first = 4, .forced_last = {2}}};
    const BeamResult result = search({{9}}, 10, options);
    EXPECT_EQ(result.texts[0].size(), 3u);
    for (const BeamText& text : result.texts[0]) {
        EXPECT_EQ(text.tokens.front(), 4);
        EXPECT_EQ(text.tokens.back(), 2);
        EXPECT_EQ(std::count(text.tokens.begin(), text.tokens.end(), 5), 0);
    }
    testing::expect_error([] { search({{1}}, 4, {.beams = {.count = 0}}); }, {"beams"});
    testing::expect_error([] { search({{1}}, 4, {.beams = {.count = 2, .returned = 3}}); }, {"3 texts", "2 beams"});
}

}  // namespace
}  // namespace tessera::inference
