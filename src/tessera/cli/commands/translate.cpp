// tessera translate: texts through an encoder–decoder, one answer each.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/json.h"
#include "tessera/inference/generator.h"
#include "tessera/inference/translation_alignment.h"

namespace tessera::cli {
namespace {

constexpr std::size_t batch_size = 8;

// What a model was trained to be asked: the text before the text.
std::string prefix_of(const models::OpenedModel& model, const std::string& task) {
    if (task.empty()) return {};
    const models::Config tasks = model.config.section_or_empty("task_specific_params");
    std::string known;
    for (const auto& [name, value] : tasks.json().members()) known += text_of(known.empty() ? "" : ", ", name);
    check(tasks.has(task), "--task: '", task, "' is not in config.json; there are: ", known.empty() ? "none" : known);
    return tasks.section(task).text("prefix", "");
}

}  // namespace

int translate_command(const std::vector<std::string>& arguments) {
    std::string folder, tokenizer, prefix, task, alignment, device = "cpu";
    std::vector<std::string> given, files;
    bool json = false;
    GenerationArguments how;
    ContextArguments context;
    Arguments parser("translate", "Puts texts through an encoder-decoder: a translation, a summary, an answer.",
                     "tessera translate DIR \"The house is small.\" --beams 4");
    parser.model("DIR", folder, "a folder of the Hub's layout");
    parser.texts("TEXT", given, files, "what to translate; -: each line of standard input",
                 "a file of which each line is a text; may be repeated");
    parser.option("--tokenizer FILE", tokenizer, "a tokenizer's file or folder (default: the model's own)");
    parser.option("--prefix", prefix,
                  "put before each text, e.g. \"translate English to German: \" (default: nothing)");
    parser.option("--task", task,
                  "take the prefix of this task from config.json's task_specific_params (default: none)");
    parser.option("--alignment FILE", alignment,
                  "an .svg file to write: what each word looked at, for one text (default: none)");
    how.declare_stops(parser, 256);
    how.declare_sampling(parser);
    how.declare_beams(parser);
    context.declare(parser);
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (given.empty() && files.empty()) return parser.refuse("TEXT is missing");
    if (!alignment.empty()) check_output_file(alignment, "<svg", {folder});
    const models::OpenedModel model = open_to_generate(
        folder,
        {.tokenizer = tokenizer, .device = parse_device(device), .needs_tokenizer = models::NeedsTokenizer::Yes});
    check(model.model->has_encoder(), folder, ": model_type '", model.config.text("model_type", "?"),
          "' has no encoder; see tessera generate");
    const models::GenerationSettings settings = how.applied(model);
    const inference::ContextRule rule = context.rule(model);
    const std::string before = prefix_of(model, task) + prefix;
    const std::vector<std::string> texts = input_texts(given, files);
    check(alignment.empty() || texts.size() == 1, "--alignment: shows one text, and ", texts.size(), " were given");
    inference::Generator generator(model);
    const auto start = std::chrono::steady_clock::now();
    std::size_t tokens = 0, stopped = 0;
    for (std::size_t begin = 0; begin < texts.size(); begin += batch_size) {
        std::vector<inference::Prompt> prompts;
        for (std::size_t i = begin; i < std::min(begin + batch_size, texts.size()); ++i)
            prompts.push_back({.text = before + texts[i]});
        const std::vector<inference::GeneratedText> done =
            generator.generate({.prompts = prompts, .settings = settings, .stops = how.stops, .context = rule}).texts;
        if (!alignment.empty())
            formats::write_file(alignment,
                                inference::alignment_svg(inference::align(model, prompts[0], done[0].tokens)));
        for (std::size_t i = 0; i < done.size(); ++i) {
            tokens += done[i].tokens.size();
            stopped += done[i].ending == inference::Ending::Context;
            formats::Json ids = formats::Json::array();
            for (const std::int64_t id : done[i].tokens) ids.push_back(id);
            const formats::Json line = formats::Json::object()
                                           .set("text", texts[begin + i])
                                           .set("translation", done[i].text)
                                           .set("tokens", std::move(ids))
                                           .set("ending", name_of(done[i].ending));
            const std::string answer = json ? json_for_terminal(line.dump(0)) : for_terminal(done[i].text);
            std::fwrite(answer.data(), 1, answer.size(), stdout);
            std::printf("\n");
        }
        std::fflush(stdout);
        check_output();
    }
    if (stopped > 0)
        std::fprintf(stderr, "%zu of %zu texts stopped at %s\n", stopped, texts.size(), context.name(model).c_str());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!json)
        std::fprintf(stderr, "%zu texts, %zu tokens in %.3f s (%.1f tokens/s)\n", texts.size(), tokens, seconds,
                     seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0);
    return 0;
}

}  // namespace tessera::cli
