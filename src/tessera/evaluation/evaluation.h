// Evaluation of a model on data: the loss, and the metrics that its objective has.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/evaluation/bleu.h"
#include "tessera/evaluation/retrieval.h"
#include "tessera/training/run/trainer.h"

namespace tessera::evaluation {

// A mean loss of tokens as bits for each byte and each character of their texts.
struct TextBits {
    double per_byte = 0, per_character = 0;
};

struct Report {
    training::Evaluation result = {};  // the loss, and the accuracy where the objective's answers are right or wrong
    std::int64_t window = 0;           // tokens read at once; 0: texts are not read in windows
    std::optional<TextBits> bits = {};
    std::vector<Choice> choices = {};  // zero-shot: an image's own text among others
    std::optional<Bleu> bleu = {};     // of the model's own translations

    double perplexity() const;
};

struct EvalOptions {
    Device device = cpu;
    std::int64_t most_batches = 0;     // 0: all of the data
    std::filesystem::path model = {};  // that translations are taken of
    std::int64_t beams = 1;            // of these translations
    // What is being done ("evaluating"), and how many of its examples are done.
    std::function<void(const char* what, std::int64_t done, std::int64_t total)> on_progress = {};
};

// `inputs` with the data to evaluate on; a text shorter than the recipe's window is read whole. Throws where that has
// classes which the model does not know.
Report evaluate(const training::ObjectiveInputs& inputs, const EvalOptions& options);

// The recipe that a model (a folder or a file) is evaluated by: the settings of the run that it is of, else the default
// objective of the model over windows of its context, at most 1024; what `overrides` ("key=value") say goes before.
training::Recipe eval_recipe(const std::string& model, const std::vector<std::string>& files,
                             const std::vector<std::string>& overrides);

}  // namespace tessera::evaluation
