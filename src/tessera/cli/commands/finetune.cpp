// tessera finetune: a checkpoint learns from more data, whole or by adapters. A recipe from a few options.
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/commands/training_display.h"
#include "tessera/cli/commands/training_outcome.h"
#include "tessera/core/error.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/session.h"

namespace tessera::cli {
namespace {

using formats::Json;

// "r=16,alpha=32,targets=q_proj+v_proj" as recipe keys.
std::vector<std::string> lora_settings(const std::string& text) {
    std::vector<std::string> settings;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        check(equals != word.npos &&
                  (name == "r" || name == "rank" || name == "alpha" || name == "dropout" || name == "targets"),
              "--lora: '", word, "': expected r=N, alpha=X, dropout=P or targets=NAME+NAME");
        std::string value = word.substr(equals + 1);
        check((name != "r" && name != "rank") || value.find_first_not_of("0") != value.npos, "--lora: '", word,
              "': adapters need a rank of at least 1");
        if (name == "targets") {
            for (char& c : value)
                if (c == '+') c = ',';
            settings.push_back(text_of("lora.targets=", value));
        } else {
            settings.push_back(text_of("lora.", name == "r" ? "rank" : name, "=", value));
        }
    }
    return settings;
}

struct Request {
    std::string model, lora, folder;
    std::vector<std::string> data, settings;
    std::optional<std::int64_t> steps, batch;
    std::optional<double> epochs, rate;
    bool resume = false, overwrite = false, json = false;
};

// Gentler than training from nothing; adapters bear ten times as much. What the user says comes after.
training::Recipe recipe_of(const Request& request) {
    Json data = Json::array();
    std::vector<std::string> files, overrides;
    for (const std::string& argument : request.data)
        if (argument.find('=') == argument.npos || std::filesystem::exists(argument))
            files.push_back(argument);
        else
            overrides.push_back(argument);
    for (const std::string& file : files) data.push_back(file);
    check(!files.empty(), "finetune: DATA is missing: files or folders to learn from");
    Json recipe = Json::object();
    recipe.set("model", request.model)
        .set("data", Json::object().set("train", std::move(data)))
        .set("optimizer", Json::object()
                              .set("learning_rate", request.lora.empty() ? 2e-5 : 2e-4)
                              .set("weight_decay", request.lora.empty() ? 0.1 : 0.0));
    if (!models::is_adapter_folder(request.model)) {
        // An encoder that has only read so far is given labels to learn them.
        const auto model = models::build(models::config_named(request.model));
        if (const auto* objective = training::default_objective(*model, files))
            recipe.set("objective", objective->name);
    }
    std::vector<std::string> all;
    if (!request.lora.empty()) all = lora_settings(request.lora);
    if (!request.lora.empty()) recipe.set("lora", Json::object().set("rank", 16));
    const auto set = [&](const char* key, const auto& value) {
        if (value) all.push_back(text_of(key, "=", Json(*value).dump(0)));
    };
    set("steps", request.steps);
    set("epochs", request.epochs);
    set("batch", request.batch);
    set("optimizer.learning_rate", request.rate);
    all.insert(all.end(), overrides.begin(), overrides.end());
    training::check_said_once(all);
    return training::read_recipe(training::resolve_recipe(std::move(recipe), all, "finetune"));
}

}  // namespace

int finetune_command(const std::vector<std::string>& arguments) {
    Request request;
    Arguments parser("finetune", "Goes on training a checkpoint with data of your own, whole or by LoRA adapters.",
                     "tessera finetune DIR notes.txt --lora r=16,alpha=32,targets=q_proj+v_proj --steps 200 -o OUT");
    parser.model("DIR", request.model, "a folder of the Hub's layout, or a checkpoint file");
    parser.positionals("DATA", request.data,
                       "files or folders to learn from, and key=value settings (tessera train --keys lists them)");
    parser.option("--lora", request.lora,
                  "learn adapters only: r=16,alpha=32,dropout=0.05,targets=q_proj+v_proj (or all-linear; default: the "
                  "whole model)");
    parser.option("--steps", request.steps, "how many steps (default: 1000)");
    parser.option("--epochs,--num-train-epochs", request.epochs,
                  "how often to learn from all of the data (default: as long as --steps says)");
    parser.option("--batch", request.batch, "texts or images of one step (default: 8)");
    parser.option("--lr,--learning-rate", request.rate,
                  "the highest learning rate (default: 2e-5, or 2e-4 with --lora)");
    parser.option("-o,--output DIR", request.folder, "the folder to write, needed");
    parser.flag("--resume", request.resume, "go on from the newest checkpoint in the folder");
    parser.flag("--overwrite", request.overwrite,
                "replace the run or the model in the folder, when the new one is whole");
    parser.threads();
    parser.json(request.json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (request.folder.empty()) {
        std::fprintf(stderr, "tessera finetune: -o OUT is missing; see tessera finetune --help\n");
        return 2;
    }
    if (request.resume && request.overwrite) return parser.refuse(resume_or_overwrite);
    check(std::filesystem::exists(request.model), request.model, ": no such file or folder");
    const training::Recipe recipe = recipe_of(request);
    return train_with_display(recipe,
                              {.folder = request.folder,
                               .resume = request.resume,
                               .overwrite = request.overwrite,
                               .device = parse_device(recipe.device, "device")},
                              request.json, resume_command("finetune", arguments));
}

}  // namespace tessera::cli
