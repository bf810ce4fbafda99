#include "tessera/inference/generator.h"

#include <algorithm>
#include <chrono>

#include "tessera/inference/beam_search.h"
#include "tessera/inference/detokenizer.h"
#include "tessera/inference/image_prompt.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

using Clock = std::chrono::steady_clock;
using Ids = std::vector<std::int64_t>;

// What is asked, as the model reads it. The batch is made where ids alone are not enough.
struct Input {
    std::vector<Ids> ids = {};
    models::Batch batch = {};
};

Input about_images(const models::OpenedModel& model, const GenerationRequest& request, std::int64_t most) {
    std::vector<std::string> texts;
    for (const Prompt& prompt : request.prompts) {
        check(prompt.ids.empty(), "a prompt about images must be a text, not ids");
        constexpr std::size_t quickly_read = 1 << 16;
        if (prompt.text.size() > quickly_read) ids_of(model, prompt, most);  // refused before it is put together
        texts.push_back(prompt.text);
    }
    const auto prompts = request.own_image ? prompts_with_own_image : image_prompts;
    ImagePrompts read = prompts(model, texts, request.images);
    return {std::move(read.ids), std::move(read.batch)};
}

// How many tokens a prompt may have; 0: as many as wanted. An encoder's text has the positions for itself.
std::int64_t most_tokens(const models::OpenedModel& model, const ContextRule& rule) {
    const std::int64_t context = context_under(rule, *model.model);
    if (model.model->has_encoder()) return model.model->longest_text();
    return rule.end == AtContext::Shift ? 0 : context;
}

Input read(const models::OpenedModel& model, const GenerationRequest& request) {
    check(!request.prompts.empty(), "generate: there is no prompt");
    const std::int64_t most = most_tokens(model, request.context);
    if (!request.images.empty()) return about_images(model, request, most);
    Input input;
    for (const Prompt& prompt : request.prompts) {
        check(!prompt.ids.empty() || !looks_at_images(model), model.path.string(),
              ": the model answers about an image, and there is none");
        input.ids.push_back(ids_of(model, prompt, most));
    }
    return input;
}

std::int64_t longest_of(const std::vector<Ids>& prompts) {
    std::size_t longest = 0;
    for (const Ids& ids : prompts) longest = std::max(longest, ids.size());
    return static_cast<std::int64_t>(longest);
}

// A shift keeps the token that all texts begin with.
std::int64_t kept_by_shift(const models::OpenedModel& model, const std::vector<Ids>& prompts) {
    std::optional<std::int64_t> first = model.settings.bos;
    if (model.tokenizer && model.tokenizer->special.bos) first = model.tokenizer->special.bos;
    const auto begins_so = [&](const Ids& ids) { return !ids.empty() && ids.front() == first; };
    return first && std::all_of(prompts.begin(), prompts.end(), begins_so) ? 1 : 0;
}

// Tokens of all rows as they come, on their way to texts.
class Texts {
   public:
    Texts(const models::OpenedModel& model, const GenerationRequest& request, const std::vector<std::int64_t>& stop_ids,
          const std::vector<Ids>& prompts, const OnPiece& on_piece)
        : stop_ids_(stop_ids), on_piece_(on_piece), keeps_log_probabilities_(request.log_probabilities.has_value()) {
        std::sort(stop_ids_.begin(), stop_ids_.end());
        out_.texts.resize(prompts.size());
        for (const Ids& prompt : prompts) {
            out_.timings.prompt_tokens += static_cast<std::int64_t>(prompt.size());
            if (!model.tokenizer) continue;
            // A text beside an encoder's begins anew.
            const std::span<const std::int64_t> before =
                model.model->has_encoder() ? std::span<const std::int64_t>() : std::span(prompt);
            decoders_.emplace_back(*model.tokenizer, before, request.stops);
        }
        check(model.tokenizer || request.stops.empty(), model.path.string(),
              ": texts to stop before need a tokenizer, and there is none");
    }

    bool is_stop(std::int64_t id) const { return std::binary_search(stop_ids_.begin(), stop_ids_.end(), id); }

    // False: the row has come to a stop string.
    bool take(const NewToken& token) {
        if (out_.timings.first_token_seconds == 0)
            out_.timings.first_token_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
        GeneratedText& text = out_.texts[token.row];
        text.tokens.push_back(token.id);
        if (keeps_log_probabilities_)
            text.log_probabilities.push_back({token.id, token.log_probability, {token.most.begin(), token.most.end()}});
        const bool has_text = !decoders_.empty() && !is_stop(token.id);
        const std::string piece = has_text ? decoders_[token.row].add(token.id) : std::string();
        if (on_piece_)
            on_piece_({.row = token.row,
                       .text = piece,
                       .id = token.id,
                       .log_probability = token.log_probability,
                       .most = token.most});
        return decoders_.empty() || !decoders_[token.row].stopped();
    }

    GenerationResult finished() {
        for (std::size_t row = 0; row < decoders_.size(); ++row) {
            const std::string piece = decoders_[row].finish();
            if (on_piece_ && !piece.empty()) on_piece_({.row = row, .text = piece});
            out_.texts[row].text = decoders_[row].whole();
            if (decoders_[row].stopped()) out_.texts[row].ending = Ending::StopString;
        }
        return std::move(out_);
    }

    GenerationResult& out() { return out_; }

   private:
    std::vector<std::int64_t> stop_ids_;  // sorted
    const OnPiece& on_piece_;
    bool keeps_log_probabilities_;
    Clock::time_point start_ = Clock::now();
    std::vector<Detokenizer> decoders_;  // per row; none without a tokenizer
    GenerationResult out_;
};

void sample(const models::OpenedModel& opened, Input input, const GenerateOptions& options, PrefixCache* cache,
            Texts& texts) {
    const models::Model& model = *opened.model;
    const auto take = [&](const NewToken& token) { return texts.take(token); };
    const auto found_by = [&] {
        if (cache) return cache->generate(input.ids[0], options, take);
        if (!input.batch.input_ids.defined())
            return generate_with_shifts(model, opened.device, histories_of(std::move(input.ids)), options, take);
        return generate(model, input.batch, histories_of(model, input.batch, input.ids), options, take);
    };
    const Generated found = found_by();
    GenerationResult& out = texts.out();
    for (std::size_t row = 0; row < found.endings.size(); ++row) out.texts[row].ending = found.endings[row];
    if (cache) out.timings.reused_tokens = cache->reused();
    out.timings.steps = found.steps;
    out.timings.decoded_tokens = found.decoded_tokens;
    out.timings.prefill_seconds = found.prefill_seconds;
    out.timings.decode_seconds = found.decode_seconds;
    out.forgotten = found.forgotten;
    out.cache_bytes = found.cache_bytes;
}

void search(const models::Model& model, const Input& input, const BeamOptions& options, Texts& texts) {
    const BeamResult found = beam_search(model, input.batch, histories_of(model, input.batch, input.ids), options);
    GenerationResult& out = texts.out();
    for (std::size_t row = 0; row < found.texts.size(); ++row) {
        const BeamText& best = found.texts[row].front();
        GeneratedText& text = out.texts[row];
        for (const std::int64_t id : best.tokens)
            if (!texts.take({.row = row, .id = id})) break;
        text.score = best.score;
        if (best.is_cancelled)
            text.ending = Ending::Cancelled;
        else if (best.fills_context)
            text.ending = Ending::Context;
        else if (!best.tokens.empty() && texts.is_stop(best.tokens.back()))
            text.ending = Ending::StopId;
    }
    out.timings.steps = found.steps;
    out.timings.decoded_tokens = found.steps * static_cast<std::int64_t>(found.texts.size());
    out.timings.prefill_seconds = found.prefill_seconds;
    out.timings.decode_seconds = found.decode_seconds;
    out.cache_bytes = found.cache_bytes;
}

}  // namespace

Generator::Generator(const models::OpenedModel& model) : model_(model), cache_(*model.model, model.device) {}

GenerationResult Generator::generate(const GenerationRequest& request, const OnPiece& on_piece) {
    const NoGrad no_grad;
    const models::GenerationSettings settings = request.settings ? *request.settings : settings_of(model_);
    Input input = read(model_, request);
    ContextRule context = request.context;
    const bool shifts = context.end == AtContext::Shift, searches = settings.beams.count > 1;
    const bool only_ids = input.ids.size() == 1 && request.images.empty() && !model_.model->has_encoder();
    const bool reuses = request.reuse_cache && only_ids && !shifts && !searches;
    const bool can_shift = shifts && !searches && !model_.model->has_encoder();
    if (request.images.empty() && !reuses && !can_shift) input.batch = batch_for_ids(model_, input.ids);
    const std::int64_t length =
        model_.model->has_encoder() ? prompt_length(*model_.model, input.batch) : longest_of(input.ids);
    const std::int64_t most = settings.most_new_tokens(length, request.usual_new_tokens);
    if (shifts && !context.kept) context.kept = kept_by_shift(model_, input.ids);
    Texts texts(model_, request, settings.stop_ids, input.ids, on_piece);
    if (searches) {
        check(!request.log_probabilities, "log-probabilities: a search with beams has none");
        search(*model_.model, input,
               {.beams = settings.beams,
                .max_new_tokens = most,
                .stop_ids = settings.stop_ids,
                .rules = settings.rules,
                .context = context,
                .prefill_chunk = request.prefill_chunk,
                .on_prefill = request.on_prefill,
                .is_cancelled = request.is_cancelled},
               texts);
        return texts.finished();
    }
    sample(model_, std::move(input),
           {.max_new_tokens = most,
            .stop_ids = settings.stop_ids,
            .sampler = settings.sampler,
            .rules = settings.rules,
            .context = context,
            .log_probabilities = request.log_probabilities,
            .prefill_chunk = request.prefill_chunk,
            .on_prefill = request.on_prefill,
            .is_cancelled = request.is_cancelled},
           reuses ? &cache_ : nullptr, texts);
    return texts.finished();
}

models::GenerationSettings settings_of(const models::OpenedModel& model) {
    models::GenerationSettings settings = model.settings;
    if (settings.stop_ids.empty() && model.tokenizer && model.tokenizer->special.eos)
        settings.stop_ids = {*model.tokenizer->special.eos};
    return settings;
}

bool looks_at_images(const models::OpenedModel& model) {
    const models::Vision* vision = models::architecture_of(model.config).vision;
    return vision && vision->prompt;
}

const char* name_of(Ending ending) {
    switch (ending) {
        case Ending::Length: return "length";
        case Ending::Context: return "context";
        case Ending::Cancelled: return "cancelled";
        case Ending::StopId:
        case Ending::StopString: break;
    }
    return "stop";
}

}  // namespace tessera::inference
