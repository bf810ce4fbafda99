// tessera score: how well a language model predicts a text.
#include <fmt/format.h>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/text_file.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/evaluation/perplexity.h"
#include "tessera/formats/json.h"

namespace tessera::cli {

int score_command(const std::vector<std::string>& arguments) {
    std::string folder, file, named, tokenizer, device = "cpu";
    evaluation::ScoreOptions options;
    bool json = false;
    Arguments parser("score", "How well a language model predicts a text: perplexity and bits per byte and character.",
                     "tessera score DIR corpus.txt --window 512 --stride 256");
    parser.model("DIR", folder, "a folder of the Hub's layout, or a checkpoint file");
    parser.optional_positional("FILE", file, "a text file; -: standard input");
    parser.option("-f,--file FILE", named, "the same as FILE (default: FILE)");
    parser.option("--window", options.window, "tokens read at once; 0: the model's context, at most 1024");
    parser.option("--stride", options.stride, "how far a window moves on; 0: half of it");
    parser.flag("--beyond-context", options.beyond_context,
                "windows may be longer than the model's context, where its positions do not end");
    parser.option("--tokenizer FILE", tokenizer, "a tokenizer's file or folder (default: the model's own)");
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (file.empty() == named.empty())
        return parser.refuse(file.empty() ? "FILE is missing" : "expected one file, found FILE and --file");
    check(options.window >= 0, "--window: expected 0 or more, found ", options.window);
    check(options.stride >= 0, "--stride: expected 0 or more, found ", options.stride);

    const TextFile source(file.empty() ? named : file);
    check(!source.text().empty(), source.name(), ": is empty: there is nothing to predict");
    const models::OpenedModel model = models::open_model(folder, {.tokenizer = tokenizer,
                                                                  .device = parse_device(device),
                                                                  .needs_tokenizer = models::NeedsTokenizer::Yes,
                                                                  .capability = models::Capability::Score});
    const std::int64_t context = model.model->context_length(), positions = model.model->longest_text();
    check(context == 0 || options.window <= context || (options.beyond_context && positions == 0),
          "--window: ", options.window, " tokens, but the model's context is ", context,
          positions == 0 ? "; --beyond-context goes past it" : "");
    std::unique_ptr<Progress> progress;
    options.on_progress = [&](std::int64_t done, std::int64_t total) {
        if (!progress) progress = std::make_unique<Progress>("score", static_cast<double>(total), "tokens");
        progress->set(static_cast<double>(done));
    };
    options.source = source.name();
    const evaluation::Score score = evaluation::score_text(model, source.text(), options);
    progress.reset();
    if (json)
        fmt::print("{}\n", formats::Json::object()
                               .set("tokens", score.tokens)
                               .set("bytes", score.bytes)
                               .set("negative_log_likelihood", score.negative_log_likelihood)
                               .set("perplexity", score.perplexity())
                               .set("bits_per_byte", score.bits_per_byte())
                               .set("characters", score.characters)
                               .set("bits_per_character", score.bits_per_character())
                               .dump());
    else
        fmt::print("{}: perplexity {:.4f} over {}, {:.4f} bits per byte over {}, {:.4f} bits per character\n",
                   one_line(source.name()), score.perplexity(), counted(score.tokens, "token"), score.bits_per_byte(),
                   counted(score.bytes, "byte"), score.bits_per_character());
    return 0;
}

}  // namespace tessera::cli
