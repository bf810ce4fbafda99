// Pictures rebuilt from a code: end to end, or layer-wise, each layer rebuilding what the one below it gives.
#include "data/labelled_pictures.h"
#include "models/layer_wise.h"
#include "training/objective_parts.h"

namespace tessera::training {
namespace {

class Autoencode final : public Objective {
   public:
    explicit Autoencode(const ObjectiveInputs& inputs)
        : set_(data::open_pictures(inputs.data, {.with_labels = false})),
          pictures_(inputs),
          layer_wise_(inputs.recipe.resolved.boolean("layer_wise")) {
        check(dynamic_cast<const models::LayerWise*>(&inputs.model) != nullptr, inputs.recipe.resolved.source(),
              ": objective: the model does not rebuild pictures");
    }

    std::int64_t examples() const override { return set_->size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<formats::Image> images;
        for (const std::int64_t example : examples) images.push_back(set_->picture(example));
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()),
                             .origin = origin_of("pictures", examples)};
        result.inputs.pixel_values = pictures_.pixel_values(images);
        return result;
    }

    Tensor loss(const models::Model& model, const TrainingBatch& batch, const nn::Context& context) const override {
        if (!layer_wise_) return model.loss(batch.inputs, context);
        return dynamic_cast<const models::LayerWise&>(model).layer_wise_loss(batch.inputs, context);
    }

    const char* unit() const override { return "pictures"; }

   private:
    std::unique_ptr<data::LabelledPictures> set_;
    PictureInput pictures_;
    bool layer_wise_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Autoencode>(inputs); }
const RegisterObjective registered{"autoencode", make};

}  // namespace
}  // namespace tessera::training
