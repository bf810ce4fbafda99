// The program. A command is one file; this one greets, lists them and turns an Error into one line.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "tessera/cli/arguments/failure.h"
#include "tessera/cli/arguments/suggestion.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/core/parallel.h"

namespace tessera::cli {
namespace {

struct Command {
    const char* name;
    const char* summary;
    int (*run)(const std::vector<std::string>& arguments);
    bool is_group = false;  // of commands, whose names come next
};

constexpr Command commands[] = {
    {"generate", "continue a prompt", generate_command},
    {"chat", "talk with a model", chat_command},
    {"translate", "texts through an encoder-decoder", translate_command},
    {"train", "a model from a recipe", train_command},
    {"compare", "recipes trained and put side by side", compare_command},
    {"finetune", "a model on texts of your own", finetune_command},
    {"eval", "a model's loss and accuracy on data", eval_command},
    {"merge", "adapters into their base", merge_command},
    {"embed", "vectors of sentences", embed_command},
    {"fill", "the gaps of a text", fill_command},
    {"score", "how well a text is predicted", score_command},
    {"parity", "compare every number with the reference's", parity_command},
    {"inspect", "what a model is and what it costs", inspect_command},
    {"init", "a checkpoint of random weights", init_command},
    {"classify", "what images show, what kind texts are", classify_command},
    {"tokenize", "a text's tokens and their ids", tokenize_command},
    {"tokenizer", "learn a tokenizer from texts", tokenizer_command, true},
    {"scenes", "images with questions and exact answers, made here", scenes_command, true},
    {"convert", "another dtype, other files", convert_command},
    {"regress", "a curve through points by attention pooling", regress_command},
    {"ops", "every op and the devices that can run it", ops_command},
};

void print_commands() {
    for (const Command& command : commands) std::printf("  tessera %-12s %s\n", command.name, command.summary);
    std::printf("  tessera %-12s this page, or `tessera help COMMAND` for one command\n", "help");
    std::printf("  tessera %-12s the version\n", "--version");
}

void print_welcome() {
    std::printf("Tessera %s: transformers in one native program, on CPU and CUDA.\n\n", TESSERA_VERSION);
    std::printf("A Hugging Face folder goes in, the reference's numbers come out. What can be done now:\n\n");
    print_commands();
}

using Words = std::vector<std::string>;

int unknown(const std::string& name) {
    Words known;
    std::string list;
    for (const Command& command : commands) {
        known.emplace_back(command.name);
        list += text_of(list.empty() ? "" : ", ", command.name);
    }
    const bool is_option = name.starts_with('-');
    Words options{"--help", "--version"};
    if (!is_option) options.insert(options.begin(), known.begin(), known.end());
    const std::string near = suggestion(name, options);
    std::fprintf(stderr, "tessera: there is no %s '%s'%s; see tessera --help\n", is_option ? "option" : "command",
                 one_line(name).c_str(),
                 near.empty() && !is_option ? text_of("; there are: ", list).c_str() : near.c_str());
    return 2;
}

int too_many(const std::string& word) {
    std::fprintf(stderr, "tessera: '%s' is one argument too many; see tessera --help\n", one_line(word).c_str());
    return 2;
}

int run(Words arguments) {
    const auto is_first = [&](std::initializer_list<const char*> words) {
        return !arguments.empty() && std::find(words.begin(), words.end(), arguments[0]) != words.end();
    };
    // `help COMMAND …` is `COMMAND … --help`.
    if (arguments.size() > 1 && is_first({"help", "--help", "-h"})) {
        arguments.erase(arguments.begin());
        for (const Command& command : commands)
            if (arguments[0] == command.name && arguments.size() > (command.is_group ? 2 : 1))
                return too_many(arguments.back());
        arguments.emplace_back("--help");
    }
    if (arguments.empty() || is_first({"help", "--help", "-h"})) {
        print_welcome();
        return 0;
    }
    if (is_first({"--version", "-V"})) {
        if (arguments.size() > 1) return too_many(arguments[1]);
        std::printf("tessera %s\n", TESSERA_VERSION);
        return 0;
    }
    for (const Command& command : commands)
        if (arguments[0] == command.name) return command.run({arguments.begin() + 1, arguments.end()});
    return unknown(arguments[0]);
}

// Threads wait for work by spinning, by default for so long that on a busy machine they take the time of those that
// have work: on two cores 30 tokens take seconds instead of a tenth of one. The runtime reads its settings while the
// program is loaded, so the program starts once more with a shorter wait, unless the user has chosen one. Where there
// are more threads to wake, waking them costs more than the wait: with 16, a step of ViT-S/16 takes three times as long
// after the short one.
void start_again_with_short_waits(char** values) {
    if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY") || thread_count() > 2) return;
    setenv("GOMP_SPINCOUNT", "3000", 0);
    execv("/proc/self/exe", values);  // comes back only where it cannot be done, and all goes on as it was
}

}  // namespace
}  // namespace tessera::cli

int main(int count, char** values) {
    tessera::cli::open_standard_streams();
    tessera::cli::start_again_with_short_waits(values);
    try {
        const int status = tessera::cli::run({values + 1, values + count});
        return tessera::cli::finish_output() || status != 0 ? status : 1;
    } catch (const tessera::Stopped& stopped) {
        std::fflush(stdout);
        std::fprintf(stderr, "tessera: %s\n", stopped.signal == SIGPIPE ? "standard output was closed" : "stopped");
        return tessera::cli::status_after(stopped.signal);
    } catch (const std::exception& error) {
        const auto* system = dynamic_cast<const std::system_error*>(&error);
        if (system && tessera::cli::is_output_failure(*system)) return 1;
        const std::string text = tessera::cli::failure_text(error, count > 1 ? values[1] : "");
        std::fprintf(stderr, "tessera: %s\n", tessera::cli::one_line(text).c_str());
        return 1;
    }
}
