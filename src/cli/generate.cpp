// tessera generate: continues prompts, text or token ids.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "cli/generation_arguments.h"
#include "cli/picture_arguments.h"
#include "cli/terminal.h"
#include "formats/json.h"
#include "inference/chat_prompt.h"
#include "inference/picture_prompt.h"
#include "inference/streamed_text.h"

namespace tessera::cli {
namespace {

using formats::Json;
using inference::TextModel;

struct Request {
    std::string folder, tokenizer, adapter, device = "cpu";
    std::vector<std::string> texts, ids;
    std::optional<std::int64_t> log_probabilities;
    bool chat = false, json = false, echo = false;
    GenerationArguments how;
    PictureArguments pictures;
};

std::vector<std::int64_t> ids_named(const std::string& text) {
    std::vector<std::int64_t> ids;
    const char* at = text.data();
    const char* end = at + text.size();
    while (true) {
        std::int64_t id = 0;
        const auto [next, error] = std::from_chars(at, end, id);
        check(error == std::errc() && id >= 0 && (next == end || *next == ','), "--ids: '", text,
              "' is no list of token ids such as 1,2,3");
        ids.push_back(id);
        if (next == end) return ids;
        at = next + 1;
    }
}

std::vector<inference::Prompt> prompts_of(const Request& request, const TextModel& model) {
    std::vector<inference::Prompt> prompts;
    for (const std::string& ids : request.ids) prompts.push_back({.ids = ids_named(ids)});
    for (const std::string& text : request.texts) {
        if (request.chat)
            prompts.push_back(inference::chat_prompt(model, {{.role = "user", .content = text}}));
        else
            prompts.push_back({.text = text});
    }
    return prompts;
}

// What the model reads.
struct Inputs {
    std::vector<std::vector<std::int64_t>> ids;
    models::Batch batch;
};

Inputs inputs_of(const Request& request, const TextModel& model, const std::vector<formats::Image>& pictures) {
    const std::vector<inference::Prompt> prompts = prompts_of(request, model);
    Inputs inputs;
    if (pictures.empty()) {
        for (const inference::Prompt& prompt : prompts) inputs.ids.push_back(inference::ids_of(model, prompt));
        inputs.batch = inference::batch_for(model, prompts);
        return inputs;
    }
    std::vector<std::string> texts;
    for (const inference::Prompt& prompt : prompts) texts.push_back(prompt.text);
    inference::PicturePrompts about =
        inference::picture_prompts(model.path, model.config, model.text(), texts, pictures, model.device);
    return {std::move(about.ids), std::move(about.batch)};
}

// What one row has become.
struct Answer {
    std::string text;
    std::vector<std::int64_t> tokens;
    const char* ending = "length";
    Json log_probabilities = Json::array();
    double score = 0;  // of a beam
    std::vector<data::Detection> detections = {};
};

struct Answers {
    std::vector<Answer> rows;
    Speed speed;
    std::int64_t steps = 0, cache_bytes = 0;
};

Json json_of(const std::vector<std::int64_t>& ids) {
    Json list = Json::array();
    for (const std::int64_t id : ids) list.push_back(id);
    return list;
}

Json json_of(const TextModel& model, std::int64_t id, double log_probability) {
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
    void text(const std::string& piece) const {
        if (!active_ || piece.empty()) return;
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
    }
    void id(std::int64_t id) {
        text(text_of(first_ ? "" : ",", id));
        first_ = false;
    }

   private:
    bool active_, first_ = true;
};

Answers sample(const Request& request, const TextModel& model, const inference::GenerationSettings& settings,
               const std::vector<std::vector<std::int64_t>>& ids, const models::Batch& batch) {
    inference::GenerateOptions options =
        generate_options(settings, inference::prompt_length(*model.model, batch), request.ids.empty() ? 256 : 64);
    options.log_probabilities = request.log_probabilities;
    Answers out;
    out.rows.resize(ids.size());
    std::vector<inference::StreamedText> streams;
    for (std::size_t row = 0; model.tokenizer && row < ids.size(); ++row)
        streams.emplace_back(*model.tokenizer, before(model, ids[row]), request.how.stops);
    Printer printer(!request.json && ids.size() == 1);
    const auto start = std::chrono::steady_clock::now();
    const auto on_token = [&](const inference::NewToken& token) {
        if (out.speed.first_token_seconds == 0)
            out.speed.first_token_seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (request.log_probabilities) {
            Json most = Json::array();
            for (const auto& [id, log_probability] : token.most) most.push_back(json_of(model, id, log_probability));
            out.rows[token.row].log_probabilities.push_back(
                json_of(model, token.id, token.log_probability).set("top", std::move(most)));
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
        if (generated.endings[row] != inference::Ending::length) out.rows[row].ending = "stop";
        if (!streams.empty() && streams[row].stopped()) out.rows[row].ending = "stop";
    }
    out.speed.read_seconds = generated.read_seconds;
    out.speed.step_seconds = generated.step_seconds;
    out.speed.fed = generated.fed;
    out.steps = generated.steps;
    out.cache_bytes = generated.cache_bytes;
    return out;
}

Answers search(const Request& request, const TextModel& model, const inference::GenerationSettings& settings,
               const std::vector<std::vector<std::int64_t>>& ids, const models::Batch& batch) {
    check(!request.log_probabilities, "--logprobs: a search with beams has none; try --beams 1");
    const inference::BeamOptions options{
        .beams = settings.beams,
        .max_new_tokens = settings.most_new_tokens(inference::prompt_length(*model.model, batch), 256),
        .stop_ids = settings.stop_ids,
        .rules = settings.rules};
    const inference::BeamResult found = inference::beam_search(*model.model, batch, options);
    Answers out;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        const std::vector<inference::BeamText>& texts = found.texts[row];
        Answer answer{.text = {}, .tokens = texts[0].tokens, .score = texts[0].score};
        if (is_stop(settings, answer.tokens.back())) answer.ending = "stop";
        if (model.tokenizer) {
            inference::StreamedText stream(*model.tokenizer, before(model, ids[row]), request.how.stops);
            for (const std::int64_t id : answer.tokens)
                if (!is_stop(settings, id) && !stream.stopped()) stream.add(id);
            stream.finish();
            answer.text = stream.whole();
        }
        out.rows.push_back(std::move(answer));
    }
    out.speed = {.read_seconds = found.read_seconds, .step_seconds = found.step_seconds};
    out.speed.fed = found.steps * static_cast<std::int64_t>(found.texts.size());
    out.speed.first_token_seconds = found.read_seconds + found.step_seconds;
    out.steps = found.steps;
    return out;
}

// Boxes are words of the answer; all of a batch are drawn onto one picture.
void find_boxes(const Request& request, const TextModel& model, const std::vector<formats::Image>& pictures,
                Answers& answers) {
    std::vector<data::Detection> all;
    for (Answer& answer : answers.rows) {
        answer.detections = data::read_detections(model.text().decode(answer.tokens));
        all.insert(all.end(), answer.detections.begin(), answer.detections.end());
    }
    request.pictures.draw_boxes(pictures, all);
}

void print_json(const Request& request, const TextModel& model, const inference::GenerationSettings& settings,
                const Answers& answers, const std::vector<formats::Image>& pictures) {
    Json rows = Json::array(), texts = Json::array();
    for (const Answer& answer : answers.rows) {
        rows.push_back(json_of(answer.tokens));
        Json one = Json::object();
        if (model.tokenizer) one.set("text", answer.text);
        one.set("finish_reason", answer.ending);
        if (settings.beams.count > 1) one.set("score", answer.score);
        if (request.log_probabilities) one.set("logprobs", answer.log_probabilities);
        if (!pictures.empty())
            one.set("detections", data::json_of(answer.detections, pictures[0].width, pictures[0].height));
        texts.push_back(std::move(one));
    }
    Json out = Json::object();
    out.set("tokens", std::move(rows)).set("answers", std::move(texts));
    if (!settings.sampler.is_greedy()) out.set("seed", settings.sampler.seed);
    out.set("prompt_tokens", answers.speed.prompt_tokens)
        .set("read_seconds", answers.speed.read_seconds)
        .set("first_token_seconds", answers.speed.first_token_seconds)
        .set("step_seconds", answers.speed.step_seconds)
        .set("steps", answers.steps)
        .set("cache_bytes", answers.cache_bytes);
    std::printf("%s\n", out.dump().c_str());
}

void print_log_probabilities(const Answer& answer) {
    for (const Json& token : answer.log_probabilities.items()) {
        const auto show = [](const Json& one) {
            char number[32];
            std::snprintf(number, sizeof number, " %.4f", one.find("logprob")->as_number());
            const Json* text = one.find("token");
            return text_of(one.find("id")->as_integer(), text ? text_of(" '", one_line(text->as_string()), "'") : "",
                           number);
        };
        std::string others;
        for (const Json& other : token.find("top")->items()) others += text_of("\t", show(other));
        std::printf("%s%s\n", show(token).c_str(), faint(others).c_str());
    }
}

void print_text(const Request& request, const TextModel& model, const Answers& answers, bool streamed) {
    const bool several = answers.rows.size() > 1;
    for (std::size_t row = 0; row < answers.rows.size(); ++row) {
        const Answer& answer = answers.rows[row];
        if (!streamed && model.tokenizer) {
            if (several) std::printf("%s\n", bold(text_of("[", row + 1, "]")).c_str());
            std::fwrite(answer.text.data(), 1, answer.text.size(), stdout);
        } else if (!streamed) {
            for (std::size_t i = 0; i < answer.tokens.size(); ++i)
                std::printf(i == 0 ? "%lld" : ",%lld", static_cast<long long>(answer.tokens[i]));
        }
        std::printf("\n");
        if (request.log_probabilities) print_log_probabilities(answer);
    }
}

void declare(Arguments& parser, Request& request) {
    parser.positional("DIR", request.folder,
                      "a folder of the Hub's layout or of adapters, a .gguf file, or a .bin file");
    parser.optional_positionals("PROMPT", request.texts,
                                "what to continue; several run as one batch; -: standard input");
    parser.option("--ids", request.ids, "a prompt of token ids, e.g. 1,2,3; may be repeated");
    request.pictures.declare(parser);
    parser.option("--tokenizer", request.tokenizer, "a tokenizer's file or folder, where it is not the model's own");
    parser.option("--adapter", request.adapter, "a folder of LoRA adapters to apply to the model");
    parser.flag("--chat", request.chat, "put the prompt into the model's chat template");
    parser.flag("--echo", request.echo, "print the prompt before its continuation");
    request.how.declare_stops(parser);
    request.how.declare_sampling(parser);
    request.how.declare_beams(parser);
    parser.option("--logprobs", request.log_probabilities, "show log-probabilities, and the N most probable tokens");
    parser.device(request.device);
    parser.json(request.json);
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
    Request request;
    Arguments parser("generate", "Continues a prompt: streams the text, then says how fast it was.",
                     "tessera generate DIR \"Once upon a time\" --temperature 0.8 --top-p 0.95");
    declare(parser, request);
    if (const auto status = parser.parse(arguments)) return *status;
    const bool about_pictures = !request.pictures.paths.empty();
    if (about_pictures && request.texts.empty()) request.texts = {""};  // to describe them
    if (request.texts.empty() == request.ids.empty()) {
        std::fprintf(stderr, "tessera generate: %s; see tessera generate --help\n",
                     request.ids.empty() ? "a prompt or --ids is missing (\"\" is an empty prompt)"
                     : about_pictures    ? "--image goes with a prompt, not with --ids"
                                         : "either prompts or --ids, not both");
        return 2;
    }
    check(request.log_probabilities.value_or(0) >= 0, "--logprobs: expected 0 or more, found ",
          request.log_probabilities.value_or(0));
    for (const std::string& ids : request.ids) ids_named(ids);  // refused before anything is opened
    for (std::string& text : request.texts)
        if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
    const std::vector<formats::Image> pictures = request.pictures.read();
    const bool needs_text = !request.texts.empty() || !request.how.stops.empty();
    const TextModel model = inference::open_text_model(
        request.folder, request.tokenizer, device_named(request.device),
        needs_text ? inference::NeedsTokenizer::yes : inference::NeedsTokenizer::no, request.adapter);
    const inference::GenerationSettings settings = request.how.applied(model);
    const auto [ids, batch] = inputs_of(request, model, pictures);

    const bool streams = !request.json && ids.size() == 1 && settings.beams.count == 1;
    if (request.echo && streams && !request.texts.empty()) std::printf("%s", bold(request.texts[0]).c_str());
    Answers answers = settings.beams.count > 1 ? search(request, model, settings, ids, batch)
                                               : sample(request, model, settings, ids, batch);
    for (const auto& prompt : ids) answers.speed.prompt_tokens += static_cast<std::int64_t>(prompt.size());
    if (about_pictures) find_boxes(request, model, pictures, answers);
    if (request.json) {
        print_json(request, model, settings, answers, pictures);
        return 0;
    }
    print_text(request, model, answers, streams);
    std::fflush(stdout);
    std::string line = speed_line(answers.speed);
    if (!settings.sampler.is_greedy()) line += text_of(", seed ", settings.sampler.seed);
    std::fprintf(stderr, "%s\n", line.c_str());
    return 0;
}

}  // namespace tessera::cli
