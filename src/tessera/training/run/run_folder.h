// The folder of a training run:
//
//     recipe.json            what was asked, with every default
//     metrics.jsonl          one line per step
//     loss.svg               the curve so far
//     checkpoints/step-N/    the model in the Hub's layout, and under state/ what resuming needs
//     config.json, model…    the result, when the run is over
//
// A checkpoint appears whole or not at all: it is written under another name and then renamed. One run at a time is at
// work in a folder. A run that replaces a finished one stands in .new-run/ until its result is whole; then the folder
// becomes the new run's in one step. Files that are no run's stay.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/own_files.h"
#include "tessera/training/run/initial_model.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {

constexpr const char* sidecar_folder = "sidecar_files";  // in the cache

struct SessionOptions;

struct RunFolderOptions {
    bool resume = false;                             // goes on with the run that is there
    bool overwrite = false;                          // takes the place of the run or the model that is there
    std::vector<std::filesystem::path> inputs = {};  // what is read is not replaced
};

// The folder holds an earlier run that can go on, or be replaced.
class EarlierRun : public Error {
   public:
    using Error::Error;
};

class RunFolder {
   public:
    // Makes the folder, clears what a run that was killed left half-written, and throws where it cannot be written,
    // holds something else, or another run is at work in it.
    explicit RunFolder(std::filesystem::path path, const RunFolderOptions& options = {});
    ~RunFolder();  // a run that has not begun leaves nothing
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

    // From here on there is something to keep.
    void begin() { begun_ = true; }
    // Throws where the disk has less room.
    void check_room(std::int64_t bytes_needed) const;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path cache() const { return path_ / "cache"; }
    std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

    // With what its examples are made of (data_record.h). Returns where it stands.
    std::filesystem::path save_checkpoint(const models::OpenedModel& model, const Trainer& trainer,
                                          double validation_loss, const formats::Json& data) const;
    // Leaves the newest `keep` checkpoints and the one with the least validation loss.
    void prune(std::int64_t keep) const;
    std::optional<std::filesystem::path> newest_checkpoint() const;
    void remove_checkpoints() const;
    // What `save` writes into the folder that it is given becomes the run's result, and the run the folder's own.
    void save_result(const std::function<void(const std::filesystem::path& folder)>& save);

   private:
    struct Saved {
        std::filesystem::path path;
        std::int64_t step;
        double validation_loss;  // infinite where none was taken
    };
    std::vector<Saved> checkpoints() const;  // by step
    void refuse_other_content(const RunFolderOptions& options) const;
    void lock();
    void leave();
    void clear_unfinished() const;

    std::filesystem::path home_;  // as the caller names it
    std::filesystem::path path_;  // where this run stands: there, or in .new-run
    std::filesystem::path made_;  // the highest folder that had to be made; empty: none
    bool begun_ = false;
    bool is_new_ = false;  // nothing of this run was there before
    int lock_ = -1;
    bool lock_made_ = false;  // by this run
};

// A recipe's model, its tokenizer and the rest of what it starts from, and its own file, for the folder to refuse.
RunFolderOptions folder_options(const Recipe& recipe, const SessionOptions& options);

// What a model takes the place of in a folder: another model, and where it is a run's, the whole run.
formats::IsOwn what_gives_way_in(const std::filesystem::path& folder);

// Where the run stands that is at work or unfinished in the folder: there, or in .new-run where it is to replace
// another.
std::filesystem::path unfinished_run(const std::filesystem::path& folder);

// Whether a finished run's model or adapters are there, and no other run is about to take their place.
bool has_result(const std::filesystem::path& run);

// What a checkpoint's examples were made of; null where it does not say.
formats::Json data_of(const std::filesystem::path& checkpoint);

// The optimizer's state of a checkpoint into the trainer, and its step. The weights are loaded before, from the same
// folder.
void restore_state(Trainer& trainer, const std::filesystem::path& checkpoint);

}  // namespace tessera::training
