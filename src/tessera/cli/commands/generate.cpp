// tessera generate: continues prompts, text or token ids.
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/generate_request.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/inference/chat_prompt.h"
#include "tessera/inference/image_prompt.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"

namespace tessera::cli {
namespace {

using inference::TextModel;

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

std::vector<inference::Prompt> prompts_of(const GenerateRequest& request, const TextModel& model) {
    std::vector<inference::Prompt> prompts;
    for (const std::string& ids : request.ids) prompts.push_back({.ids = parse_ids(ids)});
    for (const std::string& text : request.texts) {
        if (request.chat)
            prompts.push_back(inference::chat_prompt(model, {{.role = "user", .content = text}}));
        else
            prompts.push_back({.text = text});
    }
    return prompts;
}

GenerateInputs inputs_of(const GenerateRequest& request, const TextModel& model,
                         const std::vector<formats::Image>& images) {
    const std::vector<inference::Prompt> prompts = prompts_of(request, model);
    GenerateInputs inputs;
    if (images.empty()) {
        const models::Vision* vision = models::architecture_of(model.config).vision;
        check(request.texts.empty() || !vision || !vision->prompt, model.path.string(),
              ": the model answers about an image, and there is none; --image PICTURE gives one");
        for (const inference::Prompt& prompt : prompts) inputs.ids.push_back(inference::ids_of(model, prompt));
        inputs.batch = inference::batch_for(model, prompts);
        return inputs;
    }
    std::vector<std::string> texts;
    for (const inference::Prompt& prompt : prompts) texts.push_back(prompt.text);
    inference::ImagePrompts about = inference::image_prompts(model, texts, images);
    return {std::move(about.ids), std::move(about.batch)};
}

// Boxes are words of the answer; all of a batch are drawn onto one image.
void find_boxes(const GenerateRequest& request, const TextModel& model, const std::vector<formats::Image>& images,
                Answers& answers) {
    std::vector<data::Detection> all;
    for (Answer& answer : answers.rows) {
        answer.detections = data::read_detections(model.text().decode(answer.tokens));
        all.insert(all.end(), answer.detections.begin(), answer.detections.end());
    }
    request.images.draw_boxes(images, all);
}

void declare(Arguments& parser, GenerateRequest& request) {
    parser.model("DIR", request.folder, "a folder of the Hub's layout or of adapters, a .gguf file, or a .bin file");
    parser.texts("PROMPT", request.texts, request.files,
                 "what to continue; several run as one batch; -: standard input",
                 "a file that holds a prompt; the end of its last line is left out; may be repeated");
    parser.option("--ids IDS", request.ids, "a prompt of token ids, e.g. 1,2,3; may be repeated");
    request.images.declare(parser);
    parser.option("--tokenizer FILE", request.tokenizer, "a tokenizer's file or folder (default: the model's own)");
    parser.option("--adapter DIR", request.adapter, "a folder of LoRA adapters to apply to the model (default: none)");
    parser.flag("--chat", request.chat, "put the prompt into the model's chat template");
    parser.flag("--echo", request.echo, "print the prompt before its continuation");
    request.how.declare_stops(parser, 256);
    request.how.declare_sampling(parser);
    request.how.declare_beams(parser);
    request.context.declare(parser);
    request.context.declare_shift(parser);
    parser.option("--logprobs", request.log_probabilities,
                  "show log-probabilities, and the N most probable tokens (default: neither)");
    parser.device(request.device);
    parser.json(request.json);
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
    GenerateRequest request;
    Arguments parser("generate", "Continues a prompt: streams the text, then says how fast it was.",
                     "tessera generate DIR \"Once upon a time\" --temperature 0.8 --top-p 0.95");
    declare(parser, request);
    if (const auto status = parser.parse(arguments)) return *status;
    const bool about_images = !request.images.paths.empty();
    for (const std::string& file : request.files) request.texts.push_back(file_text(file));
    if (about_images && request.texts.empty()) request.texts = {""};  // to describe them
    if (request.texts.empty() == request.ids.empty()) {
        return parser.refuse(request.ids.empty() ? "a prompt or --ids is missing (\"\" is an empty prompt)"
                             : about_images      ? "--image goes with a prompt, not with --ids"
                                                 : "either prompts or --ids, not both");
    }
    check(request.log_probabilities.value_or(0) >= 0, "--logprobs: expected 0 or more, found ",
          request.log_probabilities.value_or(0));
    for (const std::string& ids : request.ids) parse_ids(ids);  // refused before anything is opened
    for (std::string& text : request.texts)
        if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
    const std::vector<formats::Image> images = request.images.read();
    const bool needs_text = !request.texts.empty() || !request.how.stops.empty();
    const TextModel model = inference::open_text_model(
        request.folder, request.tokenizer, parse_device(request.device),
        needs_text ? inference::NeedsTokenizer::Yes : inference::NeedsTokenizer::No, request.adapter);
    const inference::GenerationSettings settings = request.how.applied(model);
    const GenerateInputs inputs = inputs_of(request, model, images);

    const bool streams = !request.json && inputs.ids.size() == 1 && settings.beams.count == 1;
    if (request.echo && streams && !request.texts.empty())
        std::printf("%s", bold(for_terminal(request.texts[0])).c_str());
    Answers answers = answers_to(request, model, settings, inputs);
    if (about_images) find_boxes(request, model, images, answers);
    if (request.json) {
        print_json(request, model, settings, answers, images);
        tell_of_context(request, model, answers);
        return 0;
    }
    print_text(request, model, answers, streams);
    std::fflush(stdout);
    tell_of_context(request, model, answers);
    std::string line = speed_line(answers.speed);
    if (!settings.sampler.is_greedy()) line += text_of(", seed ", settings.sampler.seed);
    std::fprintf(stderr, "%s\n", line.c_str());
    return 0;
}

}  // namespace tessera::cli
