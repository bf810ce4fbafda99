#include "tessera/cli/commands/training_outcome.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdio>

#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::cli {

std::string accuracy_of(const training::Accuracy& answers) {
    if (answers.total == 0) return {};
    return fmt::format(", accuracy {:.2f} % ({} of {})", 100 * answers.share(), with_separators(answers.correct),
                       with_separators(answers.total));
}

int end_of_stopped(const training::SessionResult& result, const std::string& what, const std::string& resume_command) {
    std::fflush(stdout);
    fmt::print(stderr, "tessera: {}{} after step {} of {}; its checkpoint is {}; to go on: {}\n",
               result.stopped_by == SIGPIPE ? "standard output was closed: " : "", what, result.steps, result.all_steps,
               one_line(result.checkpoint.string()), one_line(resume_command));
    return status_after(result.stopped_by);
}

std::string outcome(const training::SessionResult& result) {
    std::string text = fmt::format("{} step{}", result.steps, result.steps == 1 ? "" : "s");
    if (std::isfinite(result.loss))
        text += fmt::format(", training loss {:.4f}{}", result.loss,
                            result.loss_steps > 0 ? fmt::format(" (mean of the last {})", result.loss_steps) : "");
    if (std::isfinite(result.validation_loss)) text += fmt::format(", validation loss {:.4f}", result.validation_loss);
    return text + accuracy_of(result.answers);
}

std::string resumption(const std::string& folder, std::int64_t step,
                       const std::vector<training::ChangedSetting>& changes) {
    const std::string shown = one_line(folder);
    const bool replaces = training::unfinished_run(folder) != folder;
    if (step == 0) return fmt::format("{}: no checkpoint yet; beginning with step 1", shown);
    std::string text = fmt::format("{}: going on after step {}{}", shown, step,
                                   replaces ? " of the run that is to replace the one there" : "");
    for (const training::ChangedSetting& change : changes)
        text += fmt::format("{} {}: {} → {}", &change == &changes.front() ? " with" : ",", change.key,
                            one_line(change.old_value.dump(0)), one_line(change.new_value.dump(0)));
    return text;
}

}  // namespace tessera::cli
