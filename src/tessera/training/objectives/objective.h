// The interface of an objective: batches as a pure function of their number, so that a resumed run sees what the
// interrupted one would have seen.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/models/model.h"
#include "tessera/tokenizers/tokenizer.h"
#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

struct TrainingBatch {
    models::Batch inputs = {};
    nn::Context context = {};  // masks and positions of packed rows
    std::int64_t units = 0;    // tokens or images, for the rate
    std::string origin = {};   // which examples these are, for the error of a step that fails
    std::int64_t phase = -1;   // of an objective that has phases; −1: all of them, as in an evaluation

    // Every tensor that the model is given.
    template <class OnTensor>
    void visit(const OnTensor& on_tensor) {
        inputs.visit(on_tensor);
        context.visit(on_tensor);
    }
};

// How many questions of a batch had a right answer; no questions where an objective's answers are more or less good.
struct Accuracy {
    std::int64_t total = 0, correct = 0;
    double share() const { return static_cast<double>(correct) / static_cast<double>(total); }
};

class Objective {
   public:
    virtual ~Objective() = default;
    virtual std::int64_t examples() const = 0;
    // `count` examples by their number in the data.
    virtual TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const = 0;
    virtual Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                        const nn::Context& context = {}) const {
        return model.loss(batch.inputs, options, context);
    }
    virtual Accuracy answers(const models::Model&, const TrainingBatch&) const { return {}; }
    // Which parameters learn one set after another, by parts of their names, each for an equal share of the steps. The
    // others learn all the time.
    virtual std::vector<std::vector<std::string>> phases() const { return {}; }
    virtual const char* unit() const { return "tokens"; }
    // What the data calls the classes that it teaches, in the order of their numbers; none: it teaches no classes.
    virtual std::vector<std::string> classes() const { return {}; }
};

struct ObjectiveInputs {
    const Recipe& recipe;
    const models::Model& model;
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer = {};  // null where the objective needs none
    std::vector<std::string> data = {};                           // files and folders
    std::filesystem::path cache = {};                             // where tokenised data may be kept
    std::function<void(double done, double total)> on_progress = {};
};

std::unique_ptr<Objective> make_objective(const ObjectiveInputs& inputs);  // the one that the recipe names

}  // namespace tessera::training
