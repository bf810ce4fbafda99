// `tessera train` itself, as a process, with its data, its log and its result, beside a bare loop of PyTorch: the time
// of a step and the most memory that either had; and what recomputing saves of the activations.
//
// llm.c's trainer on a CPU is a peer that is not run from here: built by gcc -O3 -march=native -fopenmp, its
// train_gpt2.c prints the milliseconds of each of its steps, and does the same step (GPT-2 124M, 4 × 256 tokens) where
// B and T say so in its main.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "benchmarks/peer_process.h"
#include "benchmarks/support.h"
#include "benchmarks/torch_peer.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel.h"
#include "tessera/core/random.h"
#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera::benchmarks {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr int warm_up = 2;  // steps, of either side

class Workshop {
   public:
    Workshop() : path_(fs::temp_directory_path() / text_of("tessera_train_", getpid())) {
        fs::create_directories(path_);
    }
    ~Workshop() { fs::remove_all(path_); }
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;
    fs::path operator/(const std::string& name) const { return path_ / name; }

   private:
    fs::path path_;
};

// Some words in no order.
void write_text(const fs::path& file) {
    std::ofstream out(file);
    const char* const words[] = {"the", "whale", "sea", "of", "and", "ship", "a", "white", "captain", "wind"};
    for (std::uint64_t i = 0; i < 100'000; ++i)
        out << words[random_bits({1, 2}, i) % std::size(words)] << (i % 12 == 11 ? ".\n" : " ");
}

// Images that pack about as well as photographs: slopes with noise on them.
void write_images(const fs::path& folder) {
    constexpr std::int64_t side = 256;
    for (int number = 0; number < 32; ++number) {
        formats::Image image(side, side);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = static_cast<std::uint8_t>(i / 1024 % 200 + random_bits({3, 4}, i) % 24);
        const fs::path home = folder / text_of("class", number % 4);
        fs::create_directories(home);
        formats::write_png(home / text_of(number, ".png"), image);
    }
}

struct Task {
    std::string name;
    Json recipe;
    std::string script;  // the same in PyTorch
    std::vector<std::string> script_options;
    std::string unit;
    double units;  // of one step
    double goal;   // times PyTorch's speed
};

int layers() { return is_quick() ? 1 : 12; }

Task gpt2(const fs::path& text) {
    const int vocabulary = is_quick() ? 500 : 50257;
    Json model = Json::object();
    model.set("model_type", "gpt2").set("vocab_size", vocabulary).set("n_positions", 256).set("n_embd", 768);
    model.set("n_layer", layers()).set("n_head", 12);
    for (const char* name : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) model.set(name, 0.0);
    Json recipe = Json::object();
    recipe.set("model", std::move(model)).set("tokenizer", "bytes").set("batch", 4);
    recipe.set("data", Json::object().set("train", text.string()).set("length", 256));
    return {.name = "GPT-2 124M, 4 × 256",
            .recipe = std::move(recipe),
            .script = "gpt2_torch.py",
            .script_options = {text_of("--layers=", layers()), text_of("--vocabulary=", vocabulary)},
            .unit = "tokens/s",
            .units = 4 * 256,
            .goal = 1.4};
}

Task vit(const fs::path& images) {
    Json model = Json::object();
    model.set("model_type", "vit").set("image_size", 224).set("patch_size", 16).set("hidden_size", 384);
    model.set("num_hidden_layers", layers()).set("num_attention_heads", 6).set("intermediate_size", 1536);
    model.set("num_labels", 1000);
    for (const char* name : {"hidden_dropout_prob", "attention_probs_dropout_prob"}) model.set(name, 0.0);
    Json recipe = Json::object();
    recipe.set("model", std::move(model)).set("objective", "classify").set("batch", 8);
    recipe.set("data", Json::object().set("train", images.string()));
    return {.name = "ViT-S/16, 8 × 224²",
            .recipe = std::move(recipe),
            .script = "vit_torch.py",
            .script_options = {text_of("--layers=", layers())},
            .unit = "pictures/s",
            .units = 8,
            .goal = 1.8};
}

struct Run {
    std::vector<double> seconds;  // of each step after the warm-up
    double peak_bytes = 0, activation_bytes = 0;

    double median() const {
        std::vector<double> sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        return takes_best() ? sorted.front() : sorted[sorted.size() / 2];
    }
};

Run ours(const Task& task, const Workshop& tokenizer_dir, int steps, const std::vector<std::string>& settings = {}) {
    const fs::path recipe = tokenizer_dir / "recipe.json", folder = tokenizer_dir / "run";
    fs::remove_all(folder);
    task.recipe.write(recipe);
    std::vector<std::string> command{TESSERA_PROGRAM, "train", recipe.string(), text_of("steps=", steps + warm_up),
                                     "spike=0",       "-o",    folder.string()};
    command.insert(command.end(), settings.begin(), settings.end());
    const FinishedProcess process = run_to_end(command, {text_of("OMP_NUM_THREADS=", thread_count())});
    Run run{.seconds = {}, .peak_bytes = process.peak_bytes};
    std::ifstream metrics(folder / "metrics.jsonl");
    double before = 0;
    int step = 0;
    for (std::string line; std::getline(metrics, line); ++step) {
        const Json entry = Json::parse(line, "metrics.jsonl");
        const double now = entry.find("seconds")->as_number();
        if (step >= warm_up) run.seconds.push_back(now - before);
        before = now;
        run.activation_bytes = std::max(run.activation_bytes, entry.find("activation_bytes")->as_number());
    }
    return run;
}

Run torch(const Task& task, int steps, const std::vector<std::string>& environment, bool bf16 = false) {
    std::vector<std::string> options = task.script_options;
    if (bf16) options.push_back("--bf16");
    options.push_back(text_of("--steps=", steps));
    const std::vector<std::string> command = torch_command(task.script, options);
    const auto run = [&](bool with_tiles) {
        std::vector<std::string> settings = environment;
        if (!with_tiles) settings.emplace_back("ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16");
        return run_to_end(command, settings);
    };
    // Where a machine has AMX and hides the sizes of its tiles, PyTorch's products end in an illegal instruction.
    static bool has_tiles = true;
    FinishedProcess process;
    try {
        process = run(has_tiles);
    } catch (const Error&) {
        if (!bf16 || !has_tiles) throw;
        has_tiles = false;
        process = run(has_tiles);
    }
    const Json answer = Json::parse(process.output, task.script);
    return {.seconds = {answer.find(takes_best() ? "best" : "step")->as_number()}, .peak_bytes = process.peak_bytes};
}

struct Pair {
    Run us, them;
};

// Rounds of both, by turns.
Pair run_both(const Task& task, const Workshop& tokenizer_dir, bool bf16) {
    const int steps = is_quick() ? 2 : 10, rounds = is_quick() ? 1 : 3;
    const std::string name = text_of("train: ", task.name, bf16 ? ", bf16" : "");
    Pair both;
    for (int round = 0; round < rounds; ++round) {
        progress(name + ", ours");
        const Run one = ours(task, tokenizer_dir, steps, {text_of("precision=", bf16 ? "bf16" : "f32")});
        both.us.seconds.insert(both.us.seconds.end(), one.seconds.begin(), one.seconds.end());
        both.us.peak_bytes = std::max(both.us.peak_bytes, one.peak_bytes);
        both.us.activation_bytes = one.activation_bytes;
        progress(name + ", PyTorch's");
        both.them.seconds.push_back(torch(task, steps, torch_environment(), bf16).seconds[0]);
    }
    return both;
}

void compare(const Task& task, const Workshop& tokenizer_dir) {
    auto [us, them] = run_both(task, tokenizer_dir, false);
    them.peak_bytes = torch(task, 1, small_torch_environment()).peak_bytes;
    report({.name = "tessera train, " + task.name + ", f32",
            .ours = task.units / us.median(),
            .unit = task.unit,
            .against = "PyTorch 1.13",
            .reference = task.units / them.median(),
            .ratio = them.median() / us.median(),
            .sense = Goal::AtLeast,
            .goal = task.goal});
    // The peer is the faster of PyTorch's two: a machine may have no instructions for bf16, or PyTorch not use them.
    const auto [narrow, narrow_torch] = run_both(task, tokenizer_dir, true);
    const double peer = std::min(narrow_torch.median(), them.median());
    report({.name = "tessera train, " + task.name + ", bf16",
            .ours = task.units / narrow.median(),
            .unit = task.unit,
            .against = narrow_torch.median() < them.median() ? "PyTorch 1.13, bf16" : "PyTorch 1.13, f32",
            .reference = task.units / peer,
            .ratio = peer / narrow.median(),
            .sense = Goal::AtLeast,
            .goal = task.goal});
    report({.name = "tessera train, " + task.name + ", memory",
            .ours = us.peak_bytes / 1e9,
            .unit = "GB",
            .against = "PyTorch 1.13",
            .reference = them.peak_bytes / 1e9,
            .ratio = us.peak_bytes / them.peak_bytes,
            .sense = Goal::AtMost,
            .goal = 1});
    progress(text_of("train: ", task.name, ", recomputing"));
    const Run again = ours(task, tokenizer_dir, 1, {"recompute=true"});
    report({.name = "tessera train, " + task.name + ", recomputing",
            .ours = again.activation_bytes / 1e6,
            .unit = "MB",
            .against = "without",
            .reference = us.activation_bytes / 1e6,
            .ratio = again.activation_bytes / us.activation_bytes,
            .sense = Goal::AtMost,
            .goal = 0.6});
}

void run() {
    const Workshop tokenizer_dir;
    write_text(tokenizer_dir / "text.txt");
    write_images(tokenizer_dir / "images");
    compare(gpt2(tokenizer_dir / "text.txt"), tokenizer_dir);
    compare(vit(tokenizer_dir / "images"), tokenizer_dir);
}

const RegisterBenchmark registered({"train", "the program's training runs against PyTorch's: time and memory", run, 6});

}  // namespace
}  // namespace tessera::benchmarks
