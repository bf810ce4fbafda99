#include "tessera/training/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/hidden_folder.h"
#include "tessera/formats/output_folder.h"
#include "tessera/formats/own_files.h"
#include "tessera/formats/safetensors.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/training/run/session.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* state_folder = "state";
constexpr const char* state_tensors = "optimizer.safetensors";
constexpr const char* state_facts = "trainer.json";
constexpr const char* prefix = "step-";
constexpr const char* unfinished_prefix = "unfinished-";
constexpr const char* removed_prefix = "removed-";
constexpr const char* new_run = ".new-run";

std::string name_of(std::int64_t step) {
    const std::string digits = std::to_string(step);
    return prefix + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

formats::NamedTensors state_of(const Trainer& trainer) {
    formats::NamedTensors tensors;
    trainer.visit_state([&](const std::string& name, const Tensor& state) {
        tensors.push_back({name, state.to(cpu)});
    });
    return tensors;
}

bool is_cache_folder(const fs::path& name) { return name == "tokenizer" || name == sidecar_folder; }

// step-00000012
bool is_checkpoint_name(const std::string& name) {
    return name.starts_with(prefix) && name.size() > std::string_view(prefix).size() &&
           name.find_first_not_of("0123456789", std::string_view(prefix).size()) == name.npos;
}

// A checkpoint that is being written, or removed.
bool is_unfinished_name(std::string name) {
    if (!name.starts_with(unfinished_prefix)) return false;
    name.erase(0, std::string_view(unfinished_prefix).size());
    if (name.starts_with(removed_prefix)) name.erase(0, std::string_view(removed_prefix).size());
    return is_checkpoint_name(name);
}

bool is_checkpoint_file(const fs::path& below) {
    return formats::is_model_file(below) || below == state_folder || below == fs::path(state_folder) / state_tensors ||
           below == fs::path(state_folder) / state_facts;
}

// "tokens-123.bin", "tokenizer/vocab.json" and their folders.
bool is_cached(const fs::path& below) {
    const std::string name = below.string();
    const fs::path top = *below.begin();
    if (top == below) return (name.starts_with("tokens-") && name.ends_with(".bin")) || is_cache_folder(top);
    return is_cache_folder(top) && formats::is_model_file(below.lexically_relative(top));
}

// By names below the run's folder.
bool is_run_file(const fs::path& below) {
    auto part = below.begin();
    const fs::path top = *part;
    const bool is_top = ++part == below.end();
    if (top == new_run) return is_top || is_run_file(below.lexically_relative(new_run));
    if (top == "cache") return is_top || is_cached(below.lexically_relative("cache"));
    if (is_top) return top == "recipe.json" || top == "metrics.jsonl" || top == "loss.svg" || top == "checkpoints";
    const fs::path step = top / *part;
    if (top != "checkpoints" || (!is_checkpoint_name(*part) && !is_unfinished_name(*part))) return false;
    return below == step || is_checkpoint_file(below.lexically_relative(step));
}

bool is_of_finished_run(const fs::path& below) { return is_run_file(below) || formats::is_model_file(below); }

// It is gone whole, or stays whole: half of one would be taken for a checkpoint. What people put into it stays.
void remove_checkpoint(const fs::path& checkpoint) {
    std::error_code error;
    if (!fs::exists(checkpoint, error)) return;
    const fs::path doomed =
        checkpoint.parent_path() / text_of(unfinished_prefix, removed_prefix, checkpoint.filename().string());
    formats::remove_own(doomed, is_checkpoint_file);
    fs::rename(checkpoint, doomed, error);
    if (error) {                                                     // others' files stand under that name
        fs::remove(checkpoint / state_folder / state_facts, error);  // without it, it is no checkpoint
        return formats::remove_own(checkpoint, is_checkpoint_file);
    }
    formats::remove_own(doomed, is_checkpoint_file);
    if (fs::exists(doomed, error)) fs::rename(doomed, checkpoint, error);
}

// A run has begun there: recipe.json alone may be a person's.
bool holds_run(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "metrics.jsonl", error) || fs::exists(folder / "cache", error) ||
           fs::exists(folder / "checkpoints", error);
}

bool holds_model(const fs::path& folder) {
    for (const fs::path& name : formats::names_in(folder))
        if (formats::is_weights_file(name) || models::is_adapter_folder(folder)) return true;
    return false;
}

// Files that a new run would put its own in the place of.
bool holds_own(const fs::path& folder) {
    const std::vector<fs::path> names = formats::names_in(folder);
    return std::any_of(names.begin(), names.end(), is_of_finished_run);
}

void make_folders(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    check(!error, folder.string(), ": cannot be made: ", error.message());
}

void move(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    check(!error, from.string(), ": cannot become ", to.string(), ": ", error.message());
}

// A second name where the file system can give one, else a copy.
void link_or_copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (fs::is_directory(from, error)) {
        make_folders(to);
        for (const fs::path& name : formats::names_in(from)) link_or_copy(from / name, to / name);
        return;
    }
    fs::create_hard_link(from, to, error);
    if (error) formats::copy_file(from, to);
}

}  // namespace

RunFolder::RunFolder(fs::path path, const RunFolderOptions& options) : home_(std::move(path)) {
    check(!home_.empty(), "the name of the run's folder is empty");
    check(!options.resume || !options.overwrite, home_.string(),
          ": a run cannot both go on with an earlier one and replace it");
    std::error_code error;
    formats::refuse_inputs_in(fs::weakly_canonical(fs::absolute(home_), error), options.inputs, is_of_finished_run,
                              home_.string());
    check(!fs::exists(home_, error) || fs::is_directory(home_), home_.string(), ": cannot be made: it is a file");
    path_ = options.overwrite && holds_own(home_) ? home_ / new_run : unfinished_run(home_);
    refuse_other_content(options);
    for (fs::path place = fs::absolute(home_ / "").parent_path(); !fs::exists(place, error);
         place = place.parent_path())
        made_ = place;
    make_folders(home_);
    try {
        lock();
        refuse_other_content(options);  // of a run that was at work until now
        if (options.overwrite) formats::remove_own(home_ / new_run, is_of_finished_run);
        is_new_ = !holds_run(path_);
        make_folders(cache());
        formats::write_file(cache() / "probe", "probe");
        fs::remove(cache() / "probe", error);
        clear_unfinished();
    } catch (...) {
        leave();
        throw;
    }
}

RunFolder::~RunFolder() { leave(); }

// What a run that has not begun made is gone, the lock at last.
void RunFolder::leave() {
    std::error_code error;
    if (!begun_) {
        if (is_new_) formats::remove_own(path_, is_run_file);
        if (lock_made_) fs::remove(home_ / formats::run_lock_name, error);
        for (fs::path place = fs::absolute(home_ / "").parent_path();
             !made_.empty() && fs::remove(place, error) && place != made_;)
            place = place.parent_path();
    }
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
}

// Its own lock stays open until the end, and goes with the program whatever becomes of that.
void RunFolder::lock() {
    const fs::path file = home_ / formats::run_lock_name;
    std::error_code error;
    const bool was_there = fs::exists(file, error);
    lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    check(lock_ >= 0, home_.string(), ": cannot be written: ", std::strerror(errno));
    struct stat status {};
    const bool taken = ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    check(!taken && ::fstat(lock_, &status) == 0 && status.st_nlink > 0, home_.string(),
          ": another training is at work in it");
    lock_made_ = !was_there;
}

void RunFolder::refuse_other_content(const RunFolderOptions& options) const {
    if (options.overwrite) return;
    const std::string home = home_.string();
    std::error_code error;
    if (options.resume) {
        check(newest_checkpoint() || !holds_model(home_) || path_ != home_, home,
              ": holds a finished run without checkpoints (save.every was 0): there is nothing to go on from");
        if (newest_checkpoint() || holds_run(path_)) return;
    }
    if (path_ != home_)
        throw EarlierRun(text_of(home, ": holds a run that was to replace an earlier one and is not over"));
    if (newest_checkpoint()) throw EarlierRun(text_of(home, ": holds an earlier run's checkpoints"));
    if (holds_model(home_)) throw formats::FolderNotEmpty(text_of(home, ": holds a finished run or a model"));
    if (holds_run(home_)) return;  // one that has left nothing
    for (const std::string name : formats::names_in(home_)) {
        if (name == formats::run_lock_name || formats::is_temporary_name(name)) continue;
        check(!options.resume, home, ": is not empty: it holds ", name, ", and no run to go on with");
        throw formats::FolderNotEmpty(text_of(home, ": is not empty: it holds ", name));
    }
}

// What a killed run leaves.
void RunFolder::clear_unfinished() const {
    for (const fs::path& folder : {path_, cache(), path_ / "checkpoints"}) formats::remove_stale_temporaries(folder);
    for (const fs::path& name : formats::names_in(path_ / "checkpoints"))
        if (is_unfinished_name(name)) formats::remove_own(path_ / "checkpoints" / name, is_checkpoint_file);
}

void RunFolder::check_room(std::int64_t bytes_needed) const {
    std::error_code error;
    const fs::space_info space = fs::space(path_, error);
    check(error || static_cast<std::int64_t>(space.available) >= bytes_needed, path_.string(),
          ": the disk has room for ", space.available, " bytes, and the checkpoints of this run need about ",
          bytes_needed);
}

fs::path RunFolder::save_checkpoint(const models::OpenedModel& model, const Trainer& trainer, double validation_loss,
                                    const Json& data) const {
    const fs::path home = path_ / "checkpoints", unfinished = home / (unfinished_prefix + name_of(trainer.steps()));
    const fs::path checkpoint = home / name_of(trainer.steps());
    formats::remove_own(unfinished, is_checkpoint_file);
    try {
        make_folders(unfinished);
        model.save(unfinished);
        make_folders(unfinished / state_folder);
        formats::write_safetensors(unfinished / state_folder / state_tensors, state_of(trainer));
        Json facts = Json::object();
        facts.set("step", trainer.steps()).set("smoothed_loss", trainer.smoothed_loss());
        if (std::isfinite(validation_loss)) facts.set("validation_loss", validation_loss);
        facts.set("data", data);
        facts.write(unfinished / state_folder / state_facts);
        formats::flush_folder(unfinished);
        remove_checkpoint(checkpoint);
        for (const fs::path& others : formats::names_in(checkpoint))  // what people put into an earlier one
            move(checkpoint / others, unfinished / others);
        move(unfinished, checkpoint);  // over an empty folder at most
    } catch (...) {
        formats::remove_own(unfinished, is_checkpoint_file);  // its bytes may be what the disk lacks
        std::error_code error;
        fs::remove(home, error);
        throw;
    }
    formats::flush_folder(home);
    return checkpoint;
}

std::vector<RunFolder::Saved> RunFolder::checkpoints() const {
    std::vector<Saved> found;
    for (const fs::path& name : formats::names_in(path_ / "checkpoints")) {
        const fs::path checkpoint = path_ / "checkpoints" / name, file = checkpoint / state_folder / state_facts;
        std::error_code error;
        if (!is_checkpoint_name(name) || !fs::exists(file, error)) continue;
        const formats::Config facts(Json::read(file), checkpoint.string());
        found.push_back({checkpoint, facts.integer("step"),
                         facts.number("validation_loss", std::numeric_limits<double>::infinity())});
    }
    std::sort(found.begin(), found.end(), [](const Saved& a, const Saved& b) { return a.step < b.step; });
    return found;
}

void RunFolder::prune(std::int64_t keep) const {
    std::vector<Saved> saved = checkpoints();
    const auto best = std::min_element(saved.begin(), saved.end(), [](const Saved& a, const Saved& b) {
        return a.validation_loss < b.validation_loss;
    });
    for (auto old = saved.begin(); saved.end() - old > keep; ++old)
        if (old != best || !std::isfinite(old->validation_loss)) remove_checkpoint(old->path);
}

std::optional<fs::path> RunFolder::newest_checkpoint() const {
    const std::vector<Saved> saved = checkpoints();
    return saved.empty() ? std::nullopt : std::optional(saved.back().path);
}

void RunFolder::remove_checkpoints() const {
    for (const Saved& saved : checkpoints()) remove_checkpoint(saved.path);
    std::error_code error;
    fs::remove(path_ / "checkpoints", error);  // where nothing else is in it
}

void RunFolder::save_result(const std::function<void(const fs::path& folder)>& save) {
    const bool replaces = path_ != home_;
    formats::OutputFolder out(
        home_,
        {.overwrite = true, .is_own = replaces ? is_of_finished_run : formats::is_model_file, .holds_run_lock = true});
    save(out.path());
    std::error_code error;
    check(!replaces || fs::is_directory(path_, error), path_.string(), ": is gone");
    if (replaces) link_or_copy(path_, out.path());
    out.commit();
    path_ = home_;
    formats::remove_own(home_ / new_run, is_of_finished_run);
}

RunFolderOptions folder_options(const Recipe& recipe, const SessionOptions& options) {
    RunFolderOptions folder{.resume = options.resume, .overwrite = options.overwrite, .inputs = {recipe.tokenizer}};
    if (recipe.model.is_string()) folder.inputs.emplace_back(recipe.model.as_string());
    folder.inputs.emplace_back(recipe.weights);
    for (const auto* data : {&recipe.train_data, &recipe.validation_data})
        folder.inputs.insert(folder.inputs.end(), data->begin(), data->end());
    std::error_code error;
    const bool is_run = holds_run(options.folder);  // its own recipe.json says what the run is to be
    if (!is_run && fs::equivalent(options.recipe_file, options.folder / "recipe.json", error))
        folder.inputs.push_back(options.recipe_file);
    return folder;
}

formats::IsOwn what_gives_way_in(const fs::path& folder) {
    std::error_code error;
    if (!fs::exists(folder / formats::run_lock_name, error)) return formats::is_model_file;
    return [](const fs::path& below) { return is_of_finished_run(below) || below == formats::run_lock_name; };
}

fs::path unfinished_run(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / new_run, error) ? folder / new_run : folder;
}

bool has_result(const fs::path& run) {
    std::error_code error;
    return holds_model(run) && !fs::exists(run / new_run, error);
}

Json data_of(const fs::path& checkpoint) {
    const Json facts = Json::read(checkpoint / state_folder / state_facts);
    const Json* data = facts.find("data");
    return data ? *data : Json();
}

void restore_state(Trainer& trainer, const fs::path& checkpoint) {
    const formats::Safetensors saved = formats::read_safetensors(checkpoint / state_folder / state_tensors);
    const std::string source = (checkpoint / state_folder / state_tensors).string();
    std::size_t restored = 0;
    trainer.visit_state([&](const std::string& name, const Tensor& state) {
        const auto found = saved.tensors.find(name);
        check(found != saved.tensors.end(), source, ": no tensor '", name, "'; was the recipe changed?");
        check(found->second.shape() == state.shape(), source, ": ", name, ": expected ", state.shape(), ", found ",
              found->second.shape());
        state.copy_from(found->second);
        ++restored;
    });
    check(restored == saved.tensors.size(), source,
          ": holds more than this run's optimizer has; was the recipe changed?");
    const fs::path file = checkpoint / state_folder / state_facts;
    const formats::Config facts(Json::read(file), file.string());
    trainer.restore(facts.integer("step"), facts.number("smoothed_loss"));
}

}  // namespace tessera::training
