// Shared parts of objectives: rows of different lengths as one batch, images as the model sees them, names of
// classes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/formats/image/image_processor_config.h"
#include "tessera/training/objectives/registration.h"

namespace tessera::training {

// Throws where the recipe and the model have none.
const tokenizers::Tokenizer& tokenizer_of(const ObjectiveInputs& inputs);

// The token that hides another, and the one that ends a text: as the folder names them, else by their usual names. The
// first is an error where there is none.
std::int64_t mask_token(const ObjectiveInputs& inputs);
std::optional<std::int64_t> end_token(const tokenizers::Tokenizer& tokenizer);

// The id that fills rows up: the tokenizer's, else the config's pad_token_id, else 0.
std::int64_t padding_id(const ObjectiveInputs& inputs);

// How long texts are: data.length, which the model's context must hold unless the recipe says otherwise.
std::int64_t text_length(const ObjectiveInputs& inputs);

struct PaddedRows {
    Tensor ids = {};   // (B, longest), filled up on the right
    Tensor mask = {};  // (B, longest) 1 where a token stands; undefined where all rows are equally long
};
PaddedRows padded_rows(const std::vector<tokenizers::Ids>& rows, std::int64_t filler);

// The recipe's numbers under data, checked: a share within (0, 1), a mean length of at least 1.
double share_in(const Recipe& recipe, const char* key, double share);
double span_length(const Recipe& recipe);

// Images as this model sees them; throws where it looks at none.
class ImageInput {
   public:
    explicit ImageInput(const ObjectiveInputs& inputs);
    Tensor pixel_values(std::span<const formats::Image> images) const;

   private:
    formats::ImageProcessorConfig settings_;
};

// Names of classes as numbers: the model's own names where it knows those of the data, else the data's in their order,
// and the model's for classes that the data lacks.
class ClassNames {
   public:
    // `found`: the names in the training data; `model_names`: what the model calls its classes.
    ClassNames(const ObjectiveInputs& inputs, std::vector<std::string> found,
               const std::vector<std::string>& model_names);
    std::int64_t number(const std::string& name, const std::string& where) const;
    const std::vector<std::string>& names() const { return names_; }

   private:
    std::vector<std::string> names_;
};

// Layers that learn one after another, for the objectives that have layer_wise.
class LayerPhases {
   public:
    // Throws where the recipe asks for it and the model has no such layers.
    explicit LayerPhases(const ObjectiveInputs& inputs);
    const std::vector<std::vector<std::string>>& names() const { return names_; }  // of each layer's parameters
    // The loss of the phase's layer; of the whole model without layer_wise or outside of training.
    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const;

   private:
    std::vector<std::vector<std::string>> names_;  // none without layer_wise
};

// What stands highest in each row of logits (…, classes) against the labels (…), −100 ignored. A question is one
// element of the first dimension; all of its labels must be right.
Accuracy highest_logits(const Tensor& logits, const Tensor& labels);

std::string origin_of(const char* what, const std::vector<std::int64_t>& examples);

}  // namespace tessera::training
