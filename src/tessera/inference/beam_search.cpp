#include "tessera/inference/beam_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tessera/inference/candidates.h"
#include "tessera/inference/token_loop.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

constexpr double hopeless = -1e9;  // the reference's stand-in for −∞

struct Beam {
    History history;
    double score = 0;      // Σ log p
    std::int64_t row = 0;  // of the decoding's batch
};

struct Continuation {
    double score;
    std::size_t beam;
    std::int64_t token;
};

class Search {
   public:
    Search(models::DecodingSession& session, const Tensor& scores, const std::vector<History>& histories,
           std::int64_t context, const BeamOptions& options)
        : session_(session),
          options_(options),
          device_(scores.device()),
          width_(static_cast<std::size_t>(options.beams.count)),
          rules_(options.rules, options.stop_ids, scores.size(1),
                 fitting_new_tokens(histories, context, options.max_new_tokens)),
          candidates_(scores.size(1)),
          weights_(static_cast<std::size_t>(scores.size(1))) {
        check(options.beams.count >= 1 && options.beams.count <= models::most_beams, "beams: expected 1 to ",
              models::most_beams, ", found ", options.beams.count);
        check(options.beams.returned >= 1 && options.beams.returned <= options.beams.count,
              "beams: ", options.beams.returned, " texts wanted of ", options.beams.count, " beams");
        check(options.max_new_tokens >= 1, "beams: expected at least 1 new token, found ", options.max_new_tokens);
        for (std::size_t row = 0; row < histories.size(); ++row) {
            Text text{.row = row, .longest = fitting_new_tokens({histories[row]}, context, options.max_new_tokens)};
            // All beams begin alike, so only the first may count.
            for (std::size_t beam = 0; beam < width_; ++beam)
                text.running.push_back({histories[row], beam == 0 ? 0 : hopeless, static_cast<std::int64_t>(row)});
            texts_.push_back(std::move(text));
        }
    }

    BeamResult run(Tensor scores) {
        BeamResult out;
        const std::size_t rows = texts_.size();
        finished_.resize(rows);
        while (true) {
            if (options_.is_cancelled && options_.is_cancelled()) {
                for (Text& text : texts_) cancel(text);
                break;
            }
            ++generated_;
            const std::vector<float> values = scores.to_vector<float>();
            for (Text& text : texts_) advance(text, values, static_cast<std::size_t>(scores.size(1)));
            std::erase_if(texts_, [&](Text& text) {
                if (text.is_open) return false;
                finished_[text.row] = std::move(text.finished);
                return true;
            });
            if (texts_.empty()) break;
            scores = step();
            ++out.steps;
        }
        for (std::vector<BeamText>& texts : finished_) {
            texts.resize(std::min(texts.size(), static_cast<std::size_t>(options_.beams.returned)));
            out.texts.push_back(std::move(texts));
        }
        out.cache_bytes = session_.cache_bytes();
        return out;
    }

   private:
    struct Text {
        std::size_t row;       // of the prompt
        std::int64_t longest;  // how many new tokens fit
        std::vector<Beam> running = {};
        std::vector<BeamText> finished = {};  // by falling score
        bool is_open = true;
    };

    // The best of what is finished, else the best beam so far.
    void cancel(Text& text) {
        const Beam& best = text.running.front();
        if (text.finished.empty()) {
            const auto length = static_cast<double>(std::max<std::int64_t>(1, generated_));
            text.finished.push_back({.score = best.score / std::pow(length, options_.beams.length_penalty)});
            text.finished.back().tokens.assign(
                best.history.ids.begin() + static_cast<std::ptrdiff_t>(best.history.prompt), best.history.ids.end());
        }
        for (BeamText& one : text.finished) one.is_cancelled = true;
        finished_[text.row] = std::move(text.finished);
    }

    bool is_stop(std::int64_t token) const { return rules_.is_stop(token); }

    void advance(Text& text, const std::vector<float>& scores, std::size_t vocabulary) {
        const std::vector<Continuation> best = best_continuations(text, scores, vocabulary);
        bool any_goes_on = false;
        const bool takes_more =
            text.finished.size() < width_ || options_.beams.early_stopping != models::EarlyStopping::WhenFull;
        std::vector<Continuation> running;
        for (std::size_t rank = 0; rank < best.size(); ++rank) {
            const Continuation& next = best[rank];
            const bool ends = generated_ == text.longest || is_stop(next.token);
            any_goes_on = any_goes_on || !ends;
            if (ends && rank < width_ && takes_more) finish(text, next);
            running.push_back({ends ? next.score + hopeless : next.score, next.beam, next.token});
        }
        std::stable_sort(running.begin(), running.end(),
                         [](const Continuation& a, const Continuation& b) { return a.score > b.score; });
        running.resize(std::min(running.size(), width_));
        std::vector<Beam> after;
        for (const Continuation& next : running) {
            Beam beam = text.running[next.beam];
            beam.score = next.score;
            beam.history.ids.push_back(next.token);
            after.push_back(std::move(beam));
        }
        text.running = std::move(after);
        text.is_open = any_goes_on && can_improve(text);
    }

    // The best continuations of all beams: enough that as many as there are beams go on even if stop ids lead.
    std::vector<Continuation> best_continuations(const Text& text, const std::vector<float>& scores,
                                                 std::size_t vocabulary) {
        const std::size_t wanted = std::max<std::size_t>(2, 1 + options_.stop_ids.size()) * width_;
        std::vector<Continuation> found;
        for (std::size_t beam = 0; beam < text.running.size(); ++beam) {
            const Beam& from = text.running[beam];
            const float* row = scores.data() + static_cast<std::size_t>(from.row) * vocabulary;
            log_probabilities_.assign(row, row + vocabulary);
            const float top = highest(log_probabilities_);
            check(!std::isnan(top), "the model's scores are not numbers (NaN): its weights or its input are broken");
            const auto log_total = static_cast<float>(top + std::log(weigh(log_probabilities_, top, 1, weights_)));
            for (float& score : log_probabilities_) score -= log_total;
            if (!rules_.changes_nothing()) rules_.apply(log_probabilities_, from.history);
            candidates_.take_highest(log_probabilities_, static_cast<std::int64_t>(wanted));
            candidates_.sort_first(wanted);
            for (const Candidate& candidate : candidates_.list())
                found.push_back({from.score + candidate.score, beam, candidate.id});
        }
        std::stable_sort(found.begin(), found.end(),
                         [](const Continuation& a, const Continuation& b) { return a.score > b.score; });
        found.resize(std::min(found.size(), wanted));
        return found;
    }

    void finish(Text& text, const Continuation& next) const {
        const History& history = text.running[next.beam].history;
        BeamText done{.score = next.score / std::pow(static_cast<double>(generated_), options_.beams.length_penalty)};
        done.tokens.assign(history.ids.begin() + static_cast<std::ptrdiff_t>(history.prompt), history.ids.end());
        done.tokens.push_back(next.token);
        done.fills_context =
            generated_ == text.longest && text.longest < options_.max_new_tokens && !is_stop(next.token);
        const auto place = std::find_if(text.finished.begin(), text.finished.end(),
                                        [&](const BeamText& other) { return other.score < done.score; });
        text.finished.insert(place, std::move(done));
        if (text.finished.size() > width_) text.finished.pop_back();
    }

    bool can_improve(const Text& text) const {
        if (text.finished.size() < width_) return true;
        if (options_.beams.early_stopping == models::EarlyStopping::WhenFull) return false;
        const double penalty = options_.beams.length_penalty;
        const bool may_grow = options_.beams.early_stopping == models::EarlyStopping::Never && penalty > 0;
        const std::int64_t length = may_grow ? text.longest : generated_;
        return text.running.front().score / std::pow(static_cast<double>(length), penalty) > text.finished.back().score;
    }

    // Feeds every running beam's newest token; caches follow the beams.
    Tensor step() {
        std::vector<std::int64_t> rows, tokens;
        for (Text& text : texts_)
            for (Beam& beam : text.running) {
                rows.push_back(beam.row);
                tokens.push_back(beam.history.ids.back());
                beam.row = static_cast<std::int64_t>(rows.size()) - 1;
            }
        session_.reorder(rows);
        return session_.step(Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size()), 1}).to(device_));
    }

    models::DecodingSession& session_;
    const BeamOptions& options_;
    Device device_;
    std::size_t width_;
    std::int64_t generated_ = 0;  // by every running beam, with the token being chosen
    LogitsProcessor rules_;
    Candidates candidates_;
    std::vector<float> log_probabilities_, weights_;
    std::vector<Text> texts_;                      // those still open
    std::vector<std::vector<BeamText>> finished_;  // of the others, by row of the prompt
};

}  // namespace

BeamResult beam_search(models::DecodingSession& session, const Tensor& scores, const std::vector<History>& histories,
                       std::int64_t context, const BeamOptions& options) {
    const NoGrad no_grad;
    check(scores.rank() == 2 && scores.size(0) == static_cast<std::int64_t>(histories.size()), "beams: scores of ",
          scores.shape(), " for ", histories.size(), " prompts");
    return Search(session, scores, histories, context, options).run(scores);
}

BeamResult beam_search(const models::Model& model, const models::Batch& prompt, const BeamOptions& options) {
    return beam_search(model, prompt, histories_of(model, prompt), options);
}

BeamResult beam_search(const models::Model& model, const models::Batch& prompt, const std::vector<History>& histories,
                       const BeamOptions& options) {
    const NoGrad no_grad;
    check(options.context.end != AtContext::Shift, "beams: a search with beams cannot shift the context");
    const std::int64_t context = context_under(options.context, model);
    const std::int64_t most = fitting_new_tokens(histories, context, options.max_new_tokens);
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [](auto since) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    };
    const std::unique_ptr<models::DecodingSession> session = model.decode(prompt_length(model, prompt) + most);
    const Tensor scores = prefill(*session, prompt,
                                  {.prefill_chunk = options.prefill_chunk,
                                   .on_prefill = options.on_prefill,
                                   .is_cancelled = options.is_cancelled});
    if (!scores.defined()) {
        BeamResult out;
        out.texts.assign(histories.size(), {BeamText{.is_cancelled = true}});
        return out;
    }
    const double prefill_seconds = seconds(start);
    const auto first = std::chrono::steady_clock::now();
    BeamResult out = beam_search(*session, scores, histories, context, options);
    out.prefill_seconds = prefill_seconds;
    out.decode_seconds = seconds(first);
    return out;
}

}  // namespace tessera::inference
