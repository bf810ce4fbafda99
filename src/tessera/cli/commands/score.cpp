// tessera score: how well a language model predicts a text.
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/mapped_file.h"
#include "tessera/evaluation/perplexity.h"
#include "tessera/formats/binary_data.h"
#include "tessera/formats/json.h"

namespace tessera::cli {

int score_command(const std::vector<std::string>& arguments) {
    std::string folder, file, tokenizer, device = "cpu";
    evaluation::ScoreOptions options;
    bool json = false;
    Arguments parser("score", "How well a language model predicts a text: perplexity and bits per byte and character.",
                     "tessera score DIR corpus.txt --window 512 --stride 256");
    parser.model("DIR", folder, "a folder of the Hub's layout, or a checkpoint file");
    parser.positional("FILE", file, "a text file");
    parser.option("--window", options.window, "tokens read at once; 0: the model's context, at most 1024");
    parser.option("--stride", options.stride, "how far a window moves on; 0: half of it");
    parser.flag("--beyond-context", options.beyond_context,
                "windows may be longer than the model's context, where its positions do not end");
    parser.option("--tokenizer FILE", tokenizer, "a tokenizer's file or folder (default: the model's own)");
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    check(options.window >= 0, "--window: expected 0 or more, found ", options.window);
    check(options.stride >= 0, "--stride: expected 0 or more, found ", options.stride);

    const MappedFile text(file);
    formats::check_is_text({reinterpret_cast<const char*>(text.data()), text.bytes()}, file);
    const models::OpenedModel model = models::open_model(
        folder,
        {.tokenizer = tokenizer, .device = parse_device(device), .needs_tokenizer = models::NeedsTokenizer::Yes});
    const std::int64_t context = model.model->context_length(), positions = model.model->longest_text();
    check(context == 0 || options.window <= context || (options.beyond_context && positions == 0),
          "--window: ", options.window, " tokens, but the model's context is ", context,
          positions == 0 ? "; --beyond-context goes past it" : "");
    std::unique_ptr<Progress> progress;
    options.on_progress = [&](std::int64_t done, std::int64_t total) {
        if (!progress) progress = std::make_unique<Progress>("score", static_cast<double>(total), "tokens");
        progress->set(static_cast<double>(done));
    };
    const evaluation::Score score =
        evaluation::score_text(model, {reinterpret_cast<const char*>(text.data()), text.bytes()}, options);
    progress.reset();
    if (json)
        std::printf("%s\n", formats::Json::object()
                                .set("tokens", score.tokens)
                                .set("bytes", score.bytes)
                                .set("negative_log_likelihood", score.negative_log_likelihood)
                                .set("perplexity", score.perplexity())
                                .set("bits_per_byte", score.bits_per_byte())
                                .set("characters", score.characters)
                                .set("bits_per_character", score.bits_per_character())
                                .dump()
                                .c_str());
    else
        std::printf("%s: perplexity %.4f over %s tokens, %.4f bits per byte over %s bytes, %.4f bits per character\n",
                    one_line(file).c_str(), score.perplexity(), with_separators(score.tokens).c_str(),
                    score.bits_per_byte(), with_separators(score.bytes).c_str(), score.bits_per_character());
    return 0;
}

}  // namespace tessera::cli
