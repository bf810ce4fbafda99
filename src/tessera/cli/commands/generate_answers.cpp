// How `tessera generate` gets its answers: token by token from the sampler, or whole from a search with beams.
#include <chrono>
#include <cstdio>

#include "tessera/cli/commands/generate_request.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/inference/beam_search.h"
#include "tessera/inference/detokenizer.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"

namespace tessera::cli {
namespace {

using formats::Json;
using inference::TextModel;

Json to_json(const TextModel& model, std::int64_t id, double log_probability) {
    Json out = Json::object().set("id", id);
    if (model.tokenizer && id < model.tokenizer->size()) {
        // As it reads within a text: alone, it may lose the space before it.
        const std::int64_t twice[] = {id, id};
        const std::string alone = model.tokenizer->decode(std::span(twice).first(1));
        const std::string both = model.tokenizer->decode(twice);
        out.set("token", both.starts_with(alone) ? both.substr(alone.size()) : alone);
    }
    return out.set("logprob", log_probability);
}

bool is_stop(const inference::GenerationSettings& settings, std::int64_t id) {
    return std::count(settings.stop_ids.begin(), settings.stop_ids.end(), id) > 0;
}

// What an answer goes on from; one to an encoder's text begins anew.
std::span<const std::int64_t> before(const TextModel& model, const std::vector<std::int64_t>& ids) {
    return model.model->has_encoder() ? std::span<const std::int64_t>() : std::span(ids);
}

// Writes one row's text or ids to standard output as they come.
class Printer {
   public:
    explicit Printer(bool active) : active_(active) {}
    void text(const std::string& piece) {
        if (active_ && !piece.empty()) write(shown_.add(piece));
    }
    void finish() {
        if (active_) write(shown_.finish());
    }
    void id(std::int64_t id) {
        text(text_of(first_ ? "" : ",", id));
        first_ = false;
    }

   private:
    static void write(const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
        check_output();
    }

    bool active_, first_ = true;
    TerminalText shown_;
};

bool can_shift(const TextModel& model) {
    return !model.model->has_encoder() && models::architecture_of(model.config).vision == nullptr;
}

// Refused in the words of this command.
void check_prompts(const GenerateRequest& request, const TextModel& model, const GenerateInputs& inputs,
                   const inference::ContextRule& rule) {
    const std::int64_t context = inference::context_under(rule, *model.model);
    if (model.model->has_encoder() || context == 0 || request.context.shifts) return;
    const bool hard = model.model->longest_text() > 0;
    for (const auto& ids : inputs.ids)
        check(static_cast<std::int64_t>(ids.size()) <= context, "the prompt has ", ids.size(), " tokens, more than ",
              request.context.name(model), can_shift(model) ? "; --context-shift leaves out the older half of it" : "",
              hard || request.context.goes_on ? "" : "; --beyond-context reads all of it");
}

Answers sample(const GenerateRequest& request, const TextModel& model, const inference::GenerationSettings& settings,
               const GenerateInputs& inputs) {
    const auto& [ids, batch] = inputs;
    inference::GenerateOptions options =
        generate_options(settings, inference::prompt_length(*model.model, batch), request.ids.empty() ? 256 : 64);
    options.log_probabilities = request.log_probabilities;
    options.context = request.context.rule(model, ids);
    check_prompts(request, model, inputs, options.context);
    check(!request.context.shifts || can_shift(model),
          "--context-shift: the model reads images or a text beside its own, and cannot forget a part of it");
    ReadingProgress reading;
    options.on_prefill = [&](std::int64_t done, std::int64_t total) { reading.set(done, total); };
    Answers out;
    out.rows.resize(ids.size());
    std::vector<inference::Detokenizer> streams;
    for (std::size_t row = 0; model.tokenizer && row < ids.size(); ++row)
        streams.emplace_back(*model.tokenizer, before(model, ids[row]), request.how.stops);
    Printer printer(!request.json && ids.size() == 1);
    const auto start = std::chrono::steady_clock::now();
    const auto on_token = [&](const inference::NewToken& token) {
        reading.end();
        if (out.speed.first_token_seconds == 0)
            out.speed.first_token_seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (request.log_probabilities) {
            Json most = Json::array();
            for (const auto& [id, log_probability] : token.most) most.push_back(to_json(model, id, log_probability));
            out.rows[token.row].log_probabilities.push_back(
                to_json(model, token.id, token.log_probability).set("top", std::move(most)));
        }
        if (streams.empty()) {
            printer.id(token.id);
            return true;
        }
        if (is_stop(settings, token.id)) return true;
        printer.text(streams[token.row].add(token.id));
        return !streams[token.row].stopped();
    };
    const inference::Generated generated = inference::generate(*model.model, batch, options, on_token);
    for (std::size_t row = 0; row < ids.size(); ++row) {
        if (!streams.empty()) printer.text(streams[row].finish());
        out.rows[row].tokens = generated.tokens[row];
        if (!streams.empty()) out.rows[row].text = streams[row].whole();
        if (generated.endings[row] != inference::Ending::Length) out.rows[row].ending = "stop";
        if (generated.endings[row] == inference::Ending::Context) out.rows[row].ending = "context";
        if (!streams.empty() && streams[row].stopped()) out.rows[row].ending = "stop";
    }
    printer.finish();
    out.speed.prefill_seconds = generated.prefill_seconds;
    out.speed.decode_seconds = generated.decode_seconds;
    out.speed.decoded_tokens = generated.decoded_tokens;
    out.steps = generated.steps;
    out.cache_bytes = generated.cache_bytes;
    out.forgotten = generated.forgotten;
    out.can_shift = can_shift(model);
    return out;
}

Answers search(const GenerateRequest& request, const TextModel& model, const inference::GenerationSettings& settings,
               const GenerateInputs& inputs) {
    const auto& [ids, batch] = inputs;
    check(!request.log_probabilities, "--logprobs: a search with beams has none; try --beams 1");
    const inference::BeamOptions options{
        .beams = settings.beams,
        .max_new_tokens = settings.most_new_tokens(inference::prompt_length(*model.model, batch), 256),
        .stop_ids = settings.stop_ids,
        .rules = settings.rules,
        .context = request.context.rule(model, ids)};
    check(!request.context.shifts, "--context-shift: a search with beams cannot forget; try --beams 1");
    check_prompts(request, model, inputs, options.context);
    const inference::BeamResult found = inference::beam_search(*model.model, batch, options);
    Answers out;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        const std::vector<inference::BeamText>& texts = found.texts[row];
        Answer answer{.text = {}, .tokens = texts[0].tokens, .score = texts[0].score};
        if (is_stop(settings, answer.tokens.back())) answer.ending = "stop";
        if (texts[0].fills_context) answer.ending = "context";
        if (model.tokenizer) {
            inference::Detokenizer stream(*model.tokenizer, before(model, ids[row]), request.how.stops);
            for (const std::int64_t id : answer.tokens)
                if (!is_stop(settings, id) && !stream.stopped()) stream.add(id);
            stream.finish();
            answer.text = stream.whole();
        }
        out.rows.push_back(std::move(answer));
    }
    out.speed = {.prefill_seconds = found.prefill_seconds, .decode_seconds = found.decode_seconds};
    out.speed.decoded_tokens = found.steps * static_cast<std::int64_t>(found.texts.size());
    out.speed.first_token_seconds = found.prefill_seconds + found.decode_seconds;
    out.steps = found.steps;
    return out;
}

}  // namespace

Answers answers_to(const GenerateRequest& request, const TextModel& model,
                   const inference::GenerationSettings& settings, const GenerateInputs& inputs) {
    Answers answers =
        settings.beams.count > 1 ? search(request, model, settings, inputs) : sample(request, model, settings, inputs);
    for (const auto& prompt : inputs.ids) answers.speed.prompt_tokens += static_cast<std::int64_t>(prompt.size());
    return answers;
}

}  // namespace tessera::cli
