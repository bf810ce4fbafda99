// tessera tokenizer train: learns a tokenizer from texts.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/command_group.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/json.h"
#include "tessera/formats/output_folder.h"
#include "tessera/tokenizers/tokenizer.h"
#include "tessera/tokenizers/training/trained_tokenizer.h"

namespace tessera::cli {
namespace {

// One bar after another, as what is done changes.
class Bars {
   public:
    void show(const std::string& what, double done, double total) {
        if (what != what_) {
            bar_.reset();
            bar_ = std::make_unique<Progress>(what, total, what == "reading" ? "bytes" : "tokens");
            what_ = what;
        }
        bar_->set(done);
    }
    void clear() { bar_.reset(); }

   private:
    std::string what_;
    std::unique_ptr<Progress> bar_;
};

int train(const std::vector<std::string>& arguments) {
    std::string folder;
    std::vector<std::string> corpus;
    bool json = false, overwrite = false;
    tokenizers::TokenizerTraining training;
    Arguments parser(
        "tokenizer train",
        "Learns a tokenizer from texts and writes it as tokenizer.json and tokenizer_config.json.\n"
        "Kinds: bpe (bytes, pairs merged), unigram (probabilities of pieces), wordpiece (pieces with ##),\n"
        "words (a list of words) and characters.",
        "tessera tokenizer train --kind bpe --vocab 8000 corpus.txt -o DIR");
    parser.positionals("CORPUS", corpus, "files of text");
    parser.option("--kind NAME", training.kind, "bpe, unigram, wordpiece, words or characters");
    parser.option("--vocab", training.vocabulary, "how many tokens, special ones with them");
    parser.option("--min-count", training.least_count, "pairs (bpe, wordpiece) or words seen less often are left out");
    parser.option("--special", training.special, "a special token more; may be repeated (default: none)");
    parser.option("--whole", training.whole,
                  "a token that is text and never cut, such as <loc0000>; may be repeated (default: none)");
    parser.option("-o,--output DIR", folder, "the folder to write, needed");
    parser.flag("--overwrite", overwrite, "replace the tokenizer that is in DIR; other files stay");
    parser.threads();
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (folder.empty()) {
        return parser.refuse("-o DIR is missing");
    }
    tokenizers::frame_of(training);  // a wrong kind is told before anything is read

    const Interruption interruption;
    formats::OutputFolder out(
        folder,
        {.overwrite = overwrite, .inputs = {corpus.begin(), corpus.end()}, .is_own = formats::is_tokenizer_file});
    Bars bars;
    training.report = [&](const std::string& what, double done, double total) { bars.show(what, done, total); };
    const auto start = std::chrono::steady_clock::now();
    const tokenizers::TrainedTokenizer trained = tokenizers::train_tokenizer({corpus.begin(), corpus.end()}, training);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bars.clear();

    formats::write_file(out.path() / "tokenizer.json", trained.tokenizer_json);
    formats::write_file(out.path() / "tokenizer_config.json", trained.config_json);
    tokenizers::open_tokenizer(out.path());  // what was written can be read
    out.commit();
    if (json)
        fmt::print("{}\n", json_for_terminal(formats::Json::object()
                                                 .set("kind", training.kind)
                                                 .set("tokens", trained.size)
                                                 .set("seconds", seconds)
                                                 .set("folder", folder)
                                                 .dump(0)));
    else
        fmt::print("{}: {} of the kind {} in {:.1f} s\n", one_line(folder), counted(trained.size, "token"),
                   training.kind, seconds);
    if (trained.size < training.vocabulary)
        fmt::print(stderr, "tessera: the corpus gives {} only\n", counted(trained.size, "token"));
    return 0;
}

}  // namespace

int tokenizer_command(const std::vector<std::string>& arguments) {
    constexpr Subcommand commands[] = {{"train", "CORPUS… -o DIR", "learn a tokenizer from texts", train}};
    return run_group({.name = "tokenizer",
                      .summary = "Tokenizers of your own.",
                      .example = "tessera tokenizer train --kind bpe --vocab 8000 corpus.txt -o DIR",
                      .commands = commands},
                     arguments);
}

}  // namespace tessera::cli
