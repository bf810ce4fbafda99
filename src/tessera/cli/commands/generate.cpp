// tessera generate: continues prompts, text or token ids.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/cli/arguments/image_arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/generate_output.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/inference/chat.h"

namespace tessera::cli {
namespace {

using inference::GeneratedText;
using inference::GenerationResult;
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
    // An encoder's tokens may be others than the decoder's, which the model counts.
    const std::int64_t vocabulary = model.model->has_encoder() ? 0 : model.vocabulary();
    for (const std::string& text : given.ids) {
        prompts.push_back({.ids = parse_ids(text)});
        for (const std::int64_t id : prompts.back().ids)
            check(vocabulary == 0 || id < vocabulary, "--ids: token ", id, " is outside a vocabulary of ", vocabulary);
    }
    if (given.chat)
        check(!model.text().chat_template.empty(), model.path.string(),
              ": --chat: there is no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); "
              "without --chat the prompt is continued as it is");
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
                         const models::OpenedModel& model, bool searches) {
    fail("the prompt has ", error.count(), " tokens, more than ", given.context.name(model),
         !searches && given.context.could_shift(model) ? "; --context-shift leaves out the older half of it" : "",
         given.context.advice(model));
}

// One line on standard error where texts have met the end of the context.
void tell_of_context(const GenerateArguments& given, const models::OpenedModel& model, const GenerationResult& result,
                     bool searches) {
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
                 !searches && given.context.could_shift(model) ? "; --context-shift goes on" : "");
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
    TextPrinter printer(model.tokenizer != nullptr);
    try {
        GenerationResult result = inference::Generator(model).generate(request, [&](const inference::TextPiece& piece) {
            reading.end();
            if (streams) printer.add(piece);
        });
        if (streams) printer.finish();
        return result;
    } catch (const inference::PromptTooLong& error) {
        refuse(error, given, model, settings.beams.count > 1);
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
    for (std::size_t i = 0; i < given.texts.size(); ++i) check_utf8(given.texts[i], text_of("prompt ", i + 1));
    const models::OpenedModel model = models::open_model(
        given.folder, {.tokenizer = given.tokenizer,
                       .adapter = given.adapter,
                       .device = parse_device(given.device),
                       .needs_tokenizer = needs_text ? models::NeedsTokenizer::Yes : models::NeedsTokenizer::No,
                       .capability = models::Capability::Generate});
    const GenerationSettings settings = given.how.applied(model);
    const GenerationResult result = generated(given, model, settings, images);
    const GenerateOutput output{.model = model,
                                .settings = settings,
                                .result = result,
                                .images = images,
                                .has_log_probabilities = given.log_probabilities.has_value()};
    if (given.json)
        fmt::print("{}\n", json_for_terminal(output.to_json().dump()));
    else
        output.print_text();
    if (about_images) given.images.draw_boxes(images, output.detections());  // all of a batch onto one image
    tell_of_context(given, model, result, settings.beams.count > 1);
    if (given.json) return 0;
    std::string line = speed_line(result.timings);
    if (!settings.sampler.is_greedy()) line += text_of(", seed ", settings.sampler.seed);
    std::fprintf(stderr, "%s\n", line.c_str());
    return 0;
}

}  // namespace tessera::cli
