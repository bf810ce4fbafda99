#include "training/run_folder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/safetensors.h"
#include "models/catalog.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* state_folder = "state";
constexpr const char* state_tensors = "optimizer.safetensors";
constexpr const char* state_facts = "trainer.json";
constexpr const char* prefix = "step-";
constexpr const char* unfinished_prefix = "unfinished-";

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

// What a killed run leaves: folders of ours under that name, and an atomic file's temporary ones.
void clear_unfinished(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(unfinished_prefix) || (name.starts_with(".") && name.ends_with(".tmp")))
            left.push_back(entry.path());
    }
    for (const fs::path& path : left) fs::remove_all(path, error);
}

// It is gone whole, or stays whole: half of one would be taken for a checkpoint.
void remove_checkpoint(const fs::path& checkpoint) {
    if (!fs::exists(checkpoint)) return;
    const fs::path doomed =
        checkpoint.parent_path() / text_of(unfinished_prefix, "removed-", checkpoint.filename().string());
    fs::remove_all(doomed);
    fs::rename(checkpoint, doomed);
    fs::remove_all(doomed);
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::create_directories(cache(), error);
    check(!error, path_.string(), ": cannot be made: ", error.message());
    formats::AtomicFile probe(cache() / "probe");
    probe.write("probe");
    probe.finish();
    for (const fs::path& folder : {path_, cache(), path_ / "checkpoints"}) clear_unfinished(folder);
}

void RunFolder::check_room(std::int64_t bytes_needed) const {
    std::error_code error;
    const fs::space_info space = fs::space(path_, error);
    check(error || static_cast<std::int64_t>(space.available) >= bytes_needed, path_.string(),
          ": the disk has room for ", space.available, " bytes, and the checkpoints of this run need about ",
          bytes_needed);
}

void RunFolder::save_checkpoint(const StartingModel& model, const Trainer& trainer, double validation_loss) const {
    const fs::path home = path_ / "checkpoints", unfinished = home / (unfinished_prefix + name_of(trainer.steps()));
    fs::remove_all(unfinished);
    fs::create_directories(unfinished);
    model.save(unfinished);
    fs::create_directories(unfinished / state_folder);
    formats::write_safetensors(unfinished / state_folder / state_tensors, state_of(trainer));
    Json facts = Json::object();
    facts.set("step", trainer.steps()).set("smoothed_loss", trainer.smoothed_loss());
    if (std::isfinite(validation_loss)) facts.set("validation_loss", validation_loss);
    facts.write(unfinished / state_folder / state_facts);
    remove_checkpoint(home / name_of(trainer.steps()));
    fs::rename(unfinished, home / name_of(trainer.steps()));
}

std::vector<RunFolder::Saved> RunFolder::checkpoints() const {
    std::vector<Saved> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path_ / "checkpoints", error)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        const formats::Config facts(Json::read(entry.path() / state_folder / state_facts), entry.path().string());
        found.push_back({entry.path(), facts.integer("step"),
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
}

bool RunFolder::has_result() const { return fs::exists(path_ / "config.json") || models::is_adapter_folder(path_); }

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
