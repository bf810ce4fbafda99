// The folder of a training run:
//
//     recipe.json            what was asked, with every default
//     metrics.jsonl          one line per step
//     loss.svg               the curve so far
//     checkpoints/step-N/    the model in the Hub's layout, and under state/ what resuming needs
//     config.json, model…    the result, when the run is over
//
// A checkpoint appears whole or not at all: it is written under another name and then renamed.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/starting_model.h"
#include "training/trainer.h"

namespace tessera::training {

class RunFolder {
   public:
    // Makes the folder, clears what a run that was killed left half-written, and throws where it cannot be written.
    explicit RunFolder(std::filesystem::path path);
    // Throws where the disk has less room.
    void check_room(std::int64_t bytes_needed) const;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path cache() const { return path_ / "cache"; }
    std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

    void save_checkpoint(const StartingModel& model, const Trainer& trainer, double validation_loss) const;
    // Leaves the newest `keep` checkpoints and the one with the least validation loss.
    void prune(std::int64_t keep) const;
    std::optional<std::filesystem::path> newest_checkpoint() const;
    void remove_checkpoints() const;
    bool has_result() const;  // a finished run's model or adapters

   private:
    struct Saved {
        std::filesystem::path path;
        std::int64_t step;
        double validation_loss;  // infinite where none was taken
    };
    std::vector<Saved> checkpoints() const;  // by step

    std::filesystem::path path_;
};

// The optimizer's state of a checkpoint into the trainer, and its step. The weights are loaded before, from the same
// folder.
void restore_state(Trainer& trainer, const std::filesystem::path& checkpoint);

}  // namespace tessera::training
