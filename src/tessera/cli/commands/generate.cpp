// tessera generate: continues prompts, text or token ids.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <utility>

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/cli/arguments/image_arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/inference/chat.h"

namespace tessera::cli {
namespace {

using formats::Json;
using inference::GeneratedText;
using inference::GenerationResult;
using inference::TokenProbability;
using models::GenerationSettings;

struct GenerateArguments {
    std::string folder, tokenizer, adapter, device = "cpu";
    std::vector<std::string> texts, files, ids;
    std::optional<std::int64_t> log_probabilities;
    bool chat = false, json = false, echo = false;
    GenerationArguments how;
    ContextArguments context;
    ImageArguments images;

    void declare(Arguments& parser) {
        parser.model("DIR", folder, "a folder of the Hub's layout or of adapters, a .gguf file, or a .bin file");
        parser.texts("PROMPT", texts, files, "what to continue; several run as one batch; -: standard input",
                     "a file that holds a prompt; the end of its last line is left out; may be repeated");
        parser.option("--ids IDS", ids, "a prompt of token ids, e.g. 1,2,3; may be repeated");
        images.declare(parser);
        parser.option("--tokenizer FILE", tokenizer, "a tokenizer's file or folder (default: the model's own)");
        parser.option("--adapter DIR", adapter, "a folder of LoRA adapters to apply to the model (default: none)");
        parser.flag("--chat", chat, "put the prompt into the model's chat template");
        parser.flag("--echo", echo, "print the prompt before its continuation");
        how.declare_stops(parser, 256);
        how.declare_sampling(parser);
        how.declare_beams(parser);
        context.declare(parser);
        context.declare_shift(parser);
        parser.option("--logprobs", log_probabilities,
                      "show log-probabilities, and the N most probable tokens (default: neither)");
        parser.device(device);
        parser.json(json);
    }
};

std::vector<std::int64_t> parse_ids(const std::string& text) {
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

std::vector<inference::Prompt> prompts_of(const GenerateArguments& given, const models::OpenedModel& model) {
    std::vector<inference::Prompt> prompts;
    for (const std::string& ids : given.ids) prompts.push_back({.ids = parse_ids(ids)});
    for (const std::string& text : given.texts) {
        if (given.chat)
            prompts.push_back(inference::chat_prompt(model, {{.role = "user", .content = text}}));
        else
            prompts.push_back({.text = text});
    }
    return prompts;
}

// Refused in the words of this command.
void check_against(const GenerateArguments& given, const models::OpenedModel& model,
                   const GenerationSettings& settings) {
    check(given.texts.empty() || !given.images.paths.empty() || !inference::looks_at_images(model), model.path.string(),
          ": the model answers about an image, and there is none; --image PICTURE gives one");
    if (settings.beams.count > 1) {
        check(!given.log_probabilities, "--logprobs: a search with beams has none; try --beams 1");
        check(!given.context.shifts, "--context-shift: a search with beams cannot forget; try --beams 1");
    }
    check(!given.context.shifts || inference::can_shift(*model.model),
          "--context-shift: the model reads images or a text beside its own, and cannot forget a part of it");
}

[[noreturn]] void refuse(const inference::PromptTooLong& error, const GenerateArguments& given,
                         const models::OpenedModel& model) {
    const bool can_go_on = model.model->longest_text() == 0 && !given.context.goes_on;
    fail("the prompt has ", error.tokens, " tokens, more than ", given.context.name(model),
         inference::can_shift(*model.model) ? "; --context-shift leaves out the older half of it" : "",
         can_go_on ? "; --beyond-context reads all of it" : "");
}

// Writes a lone prompt's text or ids to standard output as they come.
class Printer {
   public:
    explicit Printer(bool has_text) : has_text_(has_text) {}
    void add(const inference::TextPiece& piece) {
        if (has_text_)
            write(shown_.add(std::string(piece.text)));
        else if (piece.id)
            write(text_of(std::exchange(first_, false) ? "" : ",", *piece.id));
    }
    void finish() { write(shown_.finish()); }

   private:
    static void write(const std::string& text) {
        if (text.empty()) return;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
        check_output();
    }

    bool has_text_, first_ = true;
    TerminalText shown_;
};

// As it reads within a text: alone, a token may lose the space before it.
std::optional<std::string> token_text(const models::OpenedModel& model, std::int64_t id) {
    if (!model.tokenizer || id >= model.tokenizer->size()) return std::nullopt;
    const std::int64_t twice[] = {id, id};
    const std::string alone = model.tokenizer->decode(std::span(twice).first(1));
    const std::string both = model.tokenizer->decode(twice);
    return both.starts_with(alone) ? both.substr(alone.size()) : alone;
}

Json to_json(const models::OpenedModel& model, const TokenProbability& token) {
    Json out = Json::object().set("id", token.id);
    if (const auto text = token_text(model, token.id)) out.set("token", *text);
    return out.set("logprob", token.log_probability);
}

Json to_json(const models::OpenedModel& model, const std::vector<inference::TokenLogProbabilities>& tokens) {
    Json list = Json::array();
    for (const inference::TokenLogProbabilities& token : tokens) {
        Json most = Json::array();
        for (const TokenProbability& other : token.most) most.push_back(to_json(model, other));
        list.push_back(to_json(model, TokenProbability{token.id, token.log_probability}).set("top", std::move(most)));
    }
    return list;
}

void print_log_probabilities(const models::OpenedModel& model, const GeneratedText& answer) {
    const auto show = [&](std::int64_t id, double log_probability) {
        char number[32];
        std::snprintf(number, sizeof number, " %.4f", log_probability);
        const auto text = token_text(model, id);
        return text_of(id, text ? text_of(" '", one_line(*text), "'") : "", number);
    };
    for (const inference::TokenLogProbabilities& token : answer.log_probabilities) {
        std::string others;
        for (const TokenProbability& other : token.most) others += text_of("\t", show(other.id, other.log_probability));
        std::printf("%s%s\n", show(token.id, token.log_probability).c_str(), faint(others).c_str());
    }
}

std::vector<data::Detection> detections_in(const models::OpenedModel& model, const GeneratedText& answer) {
    return data::read_detections(model.text().decode(answer.tokens));
}

void print_json(const GenerateArguments& given, const models::OpenedModel& model, const GenerationSettings& settings,
                const GenerationResult& result, const std::vector<formats::Image>& images) {
    Json rows = Json::array(), texts = Json::array();
    for (const GeneratedText& answer : result.texts) {
        Json ids = Json::array();
        for (const std::int64_t id : answer.tokens) ids.push_back(id);
        rows.push_back(std::move(ids));
        Json one = Json::object();
        if (model.tokenizer) one.set("text", answer.text);
        // finish_reason knows stop and length alone, wherever it is read.
        const std::string ending = name_of(answer.ending);
        one.set("finish_reason", ending == "stop" ? "stop" : "length").set("ending", ending);
        if (settings.beams.count > 1) one.set("score", answer.score);
        if (given.log_probabilities) one.set("logprobs", to_json(model, answer.log_probabilities));
        if (!images.empty())
            one.set("detections", data::to_json(detections_in(model, answer), images[0].width, images[0].height));
        texts.push_back(std::move(one));
    }
    Json out = Json::object();
    out.set("tokens", std::move(rows)).set("answers", std::move(texts));
    if (!settings.sampler.is_greedy()) out.set("seed", settings.sampler.seed);
    out.set("prompt_tokens", result.timings.prompt_tokens)
        .set("prefill_seconds", result.timings.prefill_seconds)
        .set("first_token_seconds", result.timings.first_token_seconds)
        .set("decode_seconds", result.timings.decode_seconds)
        .set("steps", result.timings.steps)
        .set("forgotten_tokens", result.forgotten)
        .set("cache_bytes", result.cache_bytes);
    std::printf("%s\n", json_for_terminal(out.dump()).c_str());
}

// A lone text stands there already.
void print_text(const GenerateArguments& given, const models::OpenedModel& model, const GenerationResult& result) {
    for (std::size_t row = 0; row < result.texts.size(); ++row) {
        const GeneratedText& answer = result.texts[row];
        if (result.texts.size() > 1) {
            if (model.tokenizer) std::printf("%s\n", bold(text_of("[", row + 1, "]")).c_str());
            std::string text = model.tokenizer ? for_terminal(answer.text) : "";
            for (std::size_t i = 0; !model.tokenizer && i < answer.tokens.size(); ++i)
                text += text_of(i == 0 ? "" : ",", answer.tokens[i]);
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
        std::printf("\n");
        if (given.log_probabilities) print_log_probabilities(model, answer);
    }
    std::fflush(stdout);
}

// One line on standard error where texts have met the end of the context.
void tell_of_context(const GenerateArguments& given, const models::OpenedModel& model, const GenerationResult& result) {
    const std::string context = given.context.name(model);
    if (result.forgotten > 0)
        std::fprintf(stderr, "went on past %s: %s older tokens were forgotten\n", context.c_str(),
                     with_separators(result.forgotten).c_str());
    const auto stopped = std::count_if(result.texts.begin(), result.texts.end(), [](const GeneratedText& answer) {
        return answer.ending == inference::Ending::Context;
    });
    if (stopped == 0) return;
    const std::string which = result.texts.size() > 1 ? text_of(stopped, " of ", result.texts.size(), " texts ") : "";
    std::fprintf(stderr, "%sstopped at %s%s\n", which.c_str(), context.c_str(),
                 inference::can_shift(*model.model) ? "; --context-shift goes on" : "");
}

// Printing a lone text as it comes.
GenerationResult generated(const GenerateArguments& given, const models::OpenedModel& model,
                           const GenerationSettings& settings, const std::vector<formats::Image>& images) {
    ReadingProgress reading;
    const inference::GenerationRequest request{
        .prompts = prompts_of(given, model),
        .images = images,
        .settings = settings,
        .usual_new_tokens = given.ids.empty() || settings.beams.count > 1 ? 256 : 64,
        .stops = given.how.stops,
        .context = given.context.rule(model),
        .log_probabilities = given.log_probabilities,
        .reuse_cache = false,
        .on_prefill = [&](std::int64_t done, std::int64_t total) { reading.set(done, total); }};
    check_against(given, model, settings);
    const bool streams = !given.json && request.prompts.size() == 1;
    if (given.echo && streams && !given.texts.empty()) std::printf("%s", bold(for_terminal(given.texts[0])).c_str());
    Printer printer(model.tokenizer != nullptr);
    try {
        GenerationResult result = inference::Generator(model).generate(request, [&](const inference::TextPiece& piece) {
            reading.end();
            if (streams) printer.add(piece);
        });
        if (streams) printer.finish();
        return result;
    } catch (const inference::PromptTooLong& error) {
        refuse(error, given, model);
    }
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
    GenerateArguments given;
    Arguments parser("generate", "Continues a prompt: streams the text, then says how fast it was.",
                     "tessera generate DIR \"Once upon a time\" --temperature 0.8 --top-p 0.95");
    given.declare(parser);
    if (const auto status = parser.parse(arguments)) return *status;
    const bool about_images = !given.images.paths.empty();
    for (const std::string& file : given.files) given.texts.push_back(file_text(file));
    if (about_images && given.texts.empty()) given.texts = {""};  // to describe them
    if (given.texts.empty() == given.ids.empty()) {
        return parser.refuse(given.ids.empty() ? "a prompt or --ids is missing (\"\" is an empty prompt)"
                             : about_images    ? "--image goes with a prompt, not with --ids"
                                               : "either prompts or --ids, not both");
    }
    check(given.log_probabilities.value_or(0) >= 0, "--logprobs: expected 0 or more, found ",
          given.log_probabilities.value_or(0));
    for (const std::string& ids : given.ids) parse_ids(ids);  // refused before anything is opened
    for (std::string& text : given.texts)
        if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
    const std::vector<formats::Image> images = given.images.read();
    const bool needs_text = !given.texts.empty() || !given.how.stops.empty();
    const models::OpenedModel model = models::open_model(
        given.folder,
        {.tokenizer = given.tokenizer,
         .adapter = given.adapter,
         .device = parse_device(given.device),
         .needs_tokenizer = needs_text ? models::NeedsTokenizer::Yes : models::NeedsTokenizer::No});
    const GenerationSettings settings = given.how.applied(model);
    const GenerationResult result = generated(given, model, settings, images);
    if (about_images) {  // boxes are words of the answer; all of a batch are drawn onto one image
        std::vector<data::Detection> all;
        for (const GeneratedText& answer : result.texts)
            for (const data::Detection& one : detections_in(model, answer)) all.push_back(one);
        given.images.draw_boxes(images, all);
    }
    if (given.json)
        print_json(given, model, settings, result, images);
    else
        print_text(given, model, result);
    tell_of_context(given, model, result);
    if (given.json) return 0;
    std::string line = speed_line(result.timings);
    if (!settings.sampler.is_greedy()) line += text_of(", seed ", settings.sampler.seed);
    std::fprintf(stderr, "%s\n", line.c_str());
    return 0;
}

}  // namespace tessera::cli
