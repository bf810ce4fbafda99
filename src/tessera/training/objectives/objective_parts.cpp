#include "tessera/training/objectives/objective_parts.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/data/image_processor.h"
#include "tessera/models/class_names.h"
#include "tessera/models/layer_wise.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/reduce.h"
#include "tessera/training/run/initial_model.h"

namespace tessera::training {

const tokenizers::Tokenizer& tokenizer_of(const ObjectiveInputs& inputs) {
    check(inputs.tokenizer != nullptr, inputs.recipe.resolved.source(),
          ": tokenizer: none given, and the model has none");
    return *inputs.tokenizer;
}

std::int64_t mask_token(const ObjectiveInputs& inputs) {
    const tokenizers::Tokenizer& tokenizer = tokenizer_of(inputs);
    if (tokenizer.special.mask) return *tokenizer.special.mask;
    for (const char* usual : {"[MASK]", "<mask>"})
        if (const std::optional<std::int64_t> id = tokenizer.id(usual)) return *id;
    fail(inputs.recipe.resolved.source(), ": tokenizer: it has no mask token, which the ", inputs.recipe.objective,
         " objective needs");
}

std::optional<std::int64_t> end_token(const tokenizers::Tokenizer& tokenizer) {
    return tokenizer.special.eos ? tokenizer.special.eos : tokenizer.id("</s>");
}

std::int64_t padding_id(const ObjectiveInputs& inputs) {
    if (inputs.tokenizer && inputs.tokenizer->special.padding) return *inputs.tokenizer->special.padding;
    return inputs.model.padding_token;
}

std::int64_t text_length(const ObjectiveInputs& inputs) {
    const std::int64_t length = inputs.recipe.length, context = inputs.model.context_length();
    const std::int64_t positions = inputs.model.longest_text();
    const formats::Config& recipe = inputs.recipe.resolved;
    if (positions > 0 && length > positions)
        recipe.reject("data.length", text_of(length, " tokens, but the model has positions for ", positions));
    if (context > 0 && length > context && !inputs.recipe.beyond_context)
        recipe.reject("data.length", text_of(length, " tokens, but the model's context is ", context,
                                             "; beyond_context=true goes past it"));
    return length;
}

PaddedRows padded_rows(const std::vector<tokenizers::Ids>& rows, std::int64_t filler) {
    std::size_t longest = 0;
    bool equal = true;
    for (const tokenizers::Ids& row : rows) {
        longest = std::max(longest, row.size());
        equal = equal && row.size() == rows[0].size();
    }
    std::vector<std::int64_t> ids, mask;
    for (const tokenizers::Ids& row : rows) {
        ids.insert(ids.end(), row.begin(), row.end());
        ids.insert(ids.end(), longest - row.size(), filler);
        mask.insert(mask.end(), row.size(), 1);
        mask.insert(mask.end(), longest - row.size(), 0);
    }
    const Shape shape{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)};
    PaddedRows padded{.ids = Tensor::from(ids, shape)};
    if (!equal) padded.mask = Tensor::from(mask, shape);
    return padded;
}

double share_in(const Recipe& recipe, const char* key, double share) {
    if (!(share > 0 && share < 1))
        recipe.resolved.reject(key, text_of("expected a share between 0 and 1, found ", share));
    return share;
}

double span_length(const Recipe& recipe) {
    if (!(recipe.span >= 1 && recipe.span <= 100))
        recipe.resolved.reject("data.span", text_of("expected 1 to 100 tokens, found ", recipe.span));
    return recipe.span;
}

ImageInput::ImageInput(const ObjectiveInputs& inputs)
    : settings_(models::image_processor_config(model_folder(inputs.recipe), inputs.model.config)) {}

Tensor ImageInput::pixel_values(std::span<const formats::Image> images) const {
    return data::pixel_values(images, settings_);
}

ClassNames::ClassNames(const ObjectiveInputs& inputs, std::vector<std::string> found,
                       const std::vector<std::string>& model_names)
    : names_(std::move(found)) {
    const auto known = [&](const std::string& name) {
        return std::find(model_names.begin(), model_names.end(), name) != model_names.end();
    };
    if (std::all_of(names_.begin(), names_.end(), known)) {
        names_ = model_names;
    } else if (std::all_of(names_.begin(), names_.end(), models::is_class_number)) {
        std::int64_t highest = 0;
        for (const std::string& name : names_) highest = std::max<std::int64_t>(highest, std::stoll(name));
        names_.clear();
        const auto most = static_cast<std::int64_t>(model_names.size());
        for (std::int64_t i = 0; i < std::min(highest, most) + 1; ++i) names_.push_back(std::to_string(i));
    }
    check(names_.size() <= model_names.size(), inputs.recipe.train_data.front(), ": the data has at least ",
          names_.size(), " classes, and the model ", model_names.size());
    names_.insert(names_.end(), model_names.begin() + static_cast<std::ptrdiff_t>(names_.size()), model_names.end());
}

std::int64_t ClassNames::number(const std::string& name, const std::string& where) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    check(found != names_.end(), where, ": the class '", name, "' does not occur in the training data");
    return found - names_.begin();
}

LayerPhases::LayerPhases(const ObjectiveInputs& inputs) {
    if (!inputs.recipe.layer_wise) return;
    if (!inputs.model.can(models::Capability::LearnLayerwise))
        inputs.recipe.resolved.reject("layer_wise", inputs.model.cannot(models::Capability::LearnLayerwise));
    const auto& model = dynamic_cast<const models::LayerWise&>(inputs.model);
    if (model.layers() == 0)
        inputs.recipe.resolved.reject("layer_wise", "the model has no layers that can learn one after another");
    for (std::size_t layer = 0; layer < model.layers(); ++layer) names_.push_back(model.layer_parameters(layer));
}

Tensor LayerPhases::loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                         const nn::Context& context) const {
    if (names_.empty() || batch.phase < 0) return model.loss(batch.inputs, options, context);
    const auto layer = static_cast<std::size_t>(batch.phase);
    return dynamic_cast<const models::LayerWise&>(model).layer_loss(batch.inputs, layer, options, context);
}

Accuracy highest_logits(const Tensor& logits, const Tensor& labels) {
    const std::vector<std::int64_t> chosen = ops::argmax(logits).to_vector<std::int64_t>(),
                                    wanted = labels.to_vector<std::int64_t>();
    check(chosen.size() == wanted.size(), "labels: expected one for each row of ", logits.shape(), ", found ",
          labels.shape());
    Accuracy answers;
    const std::size_t width = wanted.size() / static_cast<std::size_t>(labels.size(0));
    for (std::size_t begin = 0; begin < wanted.size(); begin += width) {
        bool asked = false, right = true;
        for (std::size_t i = begin; i < begin + width; ++i) {
            asked = asked || wanted[i] != -100;
            right = right && (wanted[i] == -100 || wanted[i] == chosen[i]);
        }
        answers.total += asked;
        answers.correct += asked && right;
    }
    return answers;
}

std::string origin_of(const char* what, const std::vector<std::int64_t>& examples) {
    std::string text = what;
    for (const std::int64_t example : examples) text += text_of(" ", example);
    return text;
}

}  // namespace tessera::training
