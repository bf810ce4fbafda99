#include "tessera/inference/token_loop.h"

#include <algorithm>
#include <chrono>

#include "tessera/ops/reduce.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Scores (B, V) where the host can read them as f32.
class HostLogits {
   public:
    void take(const Tensor& logits) {
        const bool is_readable =
            logits.device().kind == DeviceKind::CPU && logits.dtype() == DType::F32 && logits.is_contiguous();
        values_ = is_readable ? logits : logits.to(cpu).to(DType::F32).contiguous();
    }
    std::span<float> row(std::size_t index) const {
        const auto width = static_cast<std::size_t>(values_.size(1));
        return {values_.data<float>() + index * width, width};
    }

   private:
    Tensor values_;
};

// Reads texts from their beginnings into new caches, and gives the logits after them; none where it was cancelled.
class Restart {
   public:
    Restart(const models::Model& model, const GenerateOptions& options, Device device)
        : model_(model), options_(options), device_(device) {}

    Tensor operator()(const std::vector<std::vector<std::int64_t>>& texts, std::int64_t capacity) {
        models::Batch batch = batch_of(texts);
        for (Tensor* tensor : {&batch.input_ids, &batch.attention_mask}) *tensor = tensor->to(device_);
        return (*this)(batch, capacity);
    }
    Tensor operator()(const models::Batch& batch, std::int64_t capacity) {
        session_.reset();
        session_ = model_.decode(capacity);
        return prefill(*session_, batch, options_);
    }
    models::DecodingSession& session() const { return *session_; }

   private:
    const models::Model& model_;
    const GenerateOptions& options_;
    Device device_;
    std::unique_ptr<models::DecodingSession> session_;
};

// What is left of a text where that many tokens after the first `kept` are forgotten.
std::vector<std::int64_t> remembered(const std::vector<std::int64_t>& ids, std::int64_t kept, std::int64_t forgotten) {
    if (forgotten == 0) return ids;
    std::vector<std::int64_t> left(ids.begin(), ids.begin() + kept);
    left.insert(left.end(), ids.begin() + kept + forgotten, ids.end());
    return left;
}

class Generation {
   public:
    // `restart`: where full rows are shifted; else null.
    Generation(models::DecodingSession& session, const Tensor& logits, std::vector<History> histories,
               std::int64_t context, const GenerateOptions& options, const OnToken& on_token,
               Restart* restart = nullptr)
        : session_(&session),
          restart_(restart),
          context_(context),
          options_(options),
          on_token_(on_token),
          device_(logits.device()),
          histories_(std::move(histories)),
          rules_(options.rules, options.stop_ids, logits.size(1),
                 fitting_new_tokens(histories_, restart ? 0 : context, options.max_new_tokens)),
          sampler_(options.sampler, logits.size(1)) {
        if (options.log_probabilities) log_probabilities_.emplace(*options.log_probabilities, logits.size(1));
        constexpr std::int64_t most_reserved = 1 << 16;  // a limit may be far beyond any text
        const auto room = static_cast<std::size_t>(std::min(options.max_new_tokens, most_reserved));
        out_.tokens.resize(histories_.size());
        out_.endings.resize(histories_.size(), Ending::Length);
        for (std::size_t row = 0; row < histories_.size(); ++row) {
            histories_[row].ids.reserve(histories_[row].ids.size() + room);
            out_.tokens[row].reserve(room);
            rows_.push_back({row, true});
            if (restart_) forget(rows_.back());
        }
        ids_ = Tensor::empty({logits.size(0), 1}, DType::I64);
    }

    Generated run(Tensor logits, double prefill_seconds = 0) {
        out_.prefill_seconds = prefill_seconds;
        const auto start = Clock::now();
        for (std::int64_t step = 0; step < options_.max_new_tokens; ++step) {
            if (!logits.defined() || (options_.is_cancelled && options_.is_cancelled())) {
                end_open_rows(Ending::Cancelled);
                break;
            }
            choose(logits, static_cast<std::uint64_t>(step));
            if (none_is_open() || step + 1 == options_.max_new_tokens) break;
            const bool any_full = std::any_of(rows_.begin(), rows_.end(),
                                              [&](const Row& row) { return row.is_open && is_full(row, step); });
            if (any_full && !restart_) end_full_rows(step);
            if (none_is_open()) break;
            if (!any_full || !restart_) let_rows_leave(step);
            out_.decoded_tokens +=
                std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.is_open; });
            logits = any_full && restart_ ? shifted() : session_->step(ids_.to(device_));
            ++out_.steps;
        }
        out_.decode_seconds = seconds_since(start);
        out_.cache_bytes = session_->cache_bytes();
        return std::move(out_);
    }

   private:
    struct Row {
        std::size_t row;  // of the prompt
        bool is_open;
        std::int64_t forgotten = 0;  // tokens of its text
    };

    bool none_is_open() const {
        return std::none_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.is_open; });
    }

    // Whether the row has no position left for the token that this step has chosen.
    bool is_full(const Row& row, std::int64_t step) const {
        const std::int64_t read = static_cast<std::int64_t>(histories_[row.row].prompt) - row.forgotten + step;
        return context_ > 0 && read >= context_;
    }

    void end_open_rows(Ending ending) {
        for (const Row& row : rows_)
            if (row.is_open) out_.endings[row.row] = ending;
    }

    void end_full_rows(std::int64_t step) {
        for (Row& row : rows_)
            if (row.is_open && is_full(row, step)) {
                row.is_open = false;
                out_.endings[row.row] = Ending::Context;
            }
    }

    void forget(Row& row) {
        const auto count = static_cast<std::int64_t>(histories_[row.row].ids.size()), before = row.forgotten;
        row.forgotten = forgotten_by_shift(count, before, context_, options_.context.kept.value_or(0));
        out_.forgotten += row.forgotten - before;
    }

    // Reads what is left of the open rows' texts, the newest tokens too.
    Tensor shifted() {
        std::erase_if(rows_, [](const Row& row) { return !row.is_open; });
        std::vector<std::vector<std::int64_t>> texts;
        for (Row& row : rows_) {
            forget(row);
            texts.push_back(remembered(histories_[row.row].ids, options_.context.kept.value_or(0), row.forgotten));
        }
        Tensor logits = (*restart_)(texts, context_);
        session_ = &restart_->session();
        ids_ = Tensor::empty({static_cast<std::int64_t>(rows_.size()), 1}, DType::I64);
        return logits;
    }

    bool only_argmax() const { return options_.sampler.is_greedy() && rules_.changes_nothing() && !log_probabilities_; }

    void choose(const Tensor& logits, std::uint64_t step) {
        // A device finds the most probable tokens itself: they are all that must come over.
        if (device_.kind != DeviceKind::CPU && only_argmax())
            ids_.copy_from(ops::argmax(logits, -1, true).to(cpu));
        else
            choose_on_host(logits, step);
        const std::int64_t* ids = ids_.data<std::int64_t>();
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (rows_[i].is_open) rows_[i].is_open = take(rows_[i].row, ids[i], i);
    }

    void choose_on_host(const Tensor& logits, std::uint64_t step) {
        host_.take(logits);
        std::int64_t* ids = ids_.data<std::int64_t>();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (!rows_[i].is_open) continue;
            const std::size_t row = rows_[i].row;
            std::span<const float> used = host_.row(i);
            if (!rules_.changes_nothing()) {
                changed_.assign(used.begin(), used.end());
                rules_.apply(changed_, histories_[row]);
                used = changed_;
            }
            ids[i] = sampler_.choose(used, row, step);
        }
    }

    // Whether the row goes on after this token.
    bool take(std::size_t row, std::int64_t id, std::size_t slot) {
        out_.tokens[row].push_back(id);
        histories_[row].ids.push_back(id);
        NewToken token{.row = row, .id = id};
        if (log_probabilities_) {
            log_probabilities_->read(host_.row(slot));
            token.log_probability = log_probabilities_->of(id);
            token.most = log_probabilities_->top();
        }
        const bool asked = on_token_ && !on_token_(token);
        const bool is_stop = rules_.is_stop(id);
        if (asked || is_stop) out_.endings[row] = is_stop ? Ending::StopId : Ending::StopString;
        return !asked && !is_stop;
    }

    // Rows that have ended are carried along until half of them have, because leaving moves the caches of the others,
    // or until there is no position for them.
    void let_rows_leave(std::int64_t step) {
        const auto open =
            static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.is_open; }));
        const bool all_fit = std::none_of(rows_.begin(), rows_.end(), [&](const Row& r) { return is_full(r, step); });
        if (open * 2 > rows_.size() && all_fit) return;
        std::vector<std::int64_t> kept, ids;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (rows_[i].is_open) {
                kept.push_back(static_cast<std::int64_t>(i));
                ids.push_back(ids_.data<std::int64_t>()[i]);
            }
        std::erase_if(rows_, [](const Row& row) { return !row.is_open; });
        session_->reorder(kept);
        ids_ = Tensor::from(ids, {static_cast<std::int64_t>(ids.size()), 1});
    }

    models::DecodingSession* session_;
    Restart* restart_;
    std::int64_t context_;
    const GenerateOptions& options_;
    const OnToken& on_token_;
    Device device_;
    std::vector<History> histories_;  // by row of the prompt
    std::vector<Row> rows_;           // of the decoding's batch
    LogitsProcessor rules_;
    Sampler sampler_;
    std::optional<LogProbabilities> log_probabilities_;
    HostLogits host_;
    std::vector<float> changed_;  // logits under the rules
    Tensor ids_;                  // (rows, 1) the newest token of each, on the host
    Generated out_;
};

}  // namespace

Generated generate(models::DecodingSession& session, Tensor logits, std::vector<History> histories,
                   std::int64_t context, const GenerateOptions& options, const OnToken& on_token) {
    const NoGrad no_grad;
    check(logits.rank() == 2 && logits.size(0) == static_cast<std::int64_t>(histories.size()), "generate: logits of ",
          logits.shape(), " for ", histories.size(), " prompts");
    return Generation(session, logits, std::move(histories), context, options, on_token).run(logits);
}

namespace {

// Ends a prefill from between its parts.
struct Cancelled {};

double seconds_until_done(const Tensor& logits, Clock::time_point start) {
    if (logits.device().kind != DeviceKind::CPU) driver(logits.device().kind).synchronize(logits.device().index);
    return seconds_since(start);
}

// A text whose rows are shifted is read from ids alone.
void check_shift(const models::Model& model, std::int64_t context) {
    check(!model.has_encoder(), model.config.source(),
          ": the context of a model that reads a text beside its own cannot be shifted");
    check(context > 0, model.config.source(), ": the model has no known context that could be shifted");
}

}  // namespace

Tensor prefill(models::DecodingSession& session, const models::Batch& prompt, const GenerateOptions& options) {
    session.prefill_chunk = options.prefill_chunk;
    session.on_prefill = [&](std::int64_t done, std::int64_t total) {
        if (options.is_cancelled && options.is_cancelled()) throw Cancelled();
        if (options.on_prefill) options.on_prefill(done, total);
    };
    Tensor logits;
    try {
        logits = session.prefill(prompt);
    } catch (const Cancelled&) {  // the session is of no more use
    }
    session.on_prefill = {};
    return logits;
}

Generated cancelled(std::size_t rows) {
    Generated out;
    out.tokens.resize(rows);
    out.endings.resize(rows, Ending::Cancelled);
    return out;
}

Generated generate(const models::Model& model, const models::Batch& prompt, const GenerateOptions& options,
                   const OnToken& on_token) {
    if (options.max_new_tokens <= 0) return {};
    return generate(model, prompt, histories_of(model, prompt), options, on_token);
}

Generated generate(const models::Model& model, const models::Batch& prompt, std::vector<History> histories,
                   const GenerateOptions& options, const OnToken& on_token) {
    const NoGrad no_grad;
    if (options.max_new_tokens <= 0) return {};
    if (options.context.end == AtContext::Shift) {
        check(!prompt.pixel_values.defined(), model.config.source(),
              ": the context of a model that reads images cannot be shifted");
        return generate_with_shifts(model, prompt.input_ids.device(), std::move(histories), options, on_token);
    }
    options.sampler.check_values();
    const std::int64_t context = context_under(options.context, model);
    const auto start = Clock::now();
    Restart restart(model, options, prompt.input_ids.device());
    const std::int64_t most = fitting_new_tokens(histories, context, options.max_new_tokens);
    const Tensor logits = restart(prompt, prompt_length(model, prompt) + most);
    if (!logits.defined()) return cancelled(histories.size());
    return Generation(restart.session(), logits, std::move(histories), context, options, on_token)
        .run(logits, seconds_until_done(logits, start));
}

Generated generate_with_shifts(const models::Model& model, Device device, std::vector<History> histories,
                               const GenerateOptions& options, const OnToken& on_token) {
    const NoGrad no_grad;
    if (options.max_new_tokens <= 0) return {};
    options.sampler.check_values();
    const std::int64_t context = context_under(options.context, model);
    const std::int64_t kept = options.context.kept.value_or(0);
    check_shift(model, context);
    const auto start = Clock::now();
    std::vector<std::vector<std::int64_t>> texts;
    for (const History& history : histories) {
        const auto count = static_cast<std::int64_t>(history.ids.size());
        texts.push_back(remembered(history.ids, kept, forgotten_by_shift(count, 0, context, kept)));
    }
    Restart restart(model, options, device);
    const Tensor logits = restart(texts, context);
    if (!logits.defined()) return cancelled(histories.size());
    return Generation(restart.session(), logits, std::move(histories), context, options, on_token, &restart)
        .run(logits, seconds_until_done(logits, start));
}

}  // namespace tessera::inference
