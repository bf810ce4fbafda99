// An objective over files of the test's own: a recipe, a small model with random weights, and a tokenizer made from
// the data.
#pragma once

#include <memory>
#include <string>

#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/training/objectives/objective.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/initial_model.h"

namespace tessera::testing {

class ObjectiveCase {
   public:
    // `recipe` without data.train, which is the file (or folder) of that name in the case's folder.
    ObjectiveCase(const TemporaryFolder& folder, const std::string& recipe, const std::string& data)
        : folder_(folder), recipe_(read(recipe, (folder / data).string())) {
        start_ = training::initial_model(recipe_, {.tokenizer_dir = folder.path() / "cache"});
        if (start_.tokenizer) tokenizer = start_.tokenizer;
    }

    std::unique_ptr<training::Objective> make() const { return make(recipe_.train_data); }
    std::unique_ptr<training::Objective> make(const std::vector<std::string>& data) const {
        std::filesystem::create_directories(folder_.path() / "cache");
        training::ObjectiveInputs inputs{.recipe = recipe_, .model = *start_.model, .tokenizer = tokenizer};
        inputs.data = data;
        inputs.cache = folder_.path() / "cache";
        return training::make_objective(inputs);
    }

    models::Model& model() const { return *start_.model; }
    const training::Recipe& recipe() const { return recipe_; }

    std::shared_ptr<const tokenizers::Tokenizer> tokenizer;

   private:
    static training::Recipe read(const std::string& text, const std::string& data) {
        formats::Json json = formats::Json::parse(text, "recipe.json");
        const formats::Json* section = json.find("data");
        formats::Json changed = section ? *section : formats::Json::object();
        changed.set("train", data);
        json.set("data", std::move(changed));
        return training::read_recipe(training::resolve_recipe(std::move(json), {}, "recipe.json"));
    }

    const TemporaryFolder& folder_;
    training::Recipe recipe_;
    models::OpenedModel start_;
};

inline std::vector<std::int64_t> values_of(const Tensor& tensor) { return tensor.to_vector<std::int64_t>(); }

}  // namespace tessera::testing
