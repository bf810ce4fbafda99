// The class of an image, from a folder per class, idx files or CIFAR-10's.
#include "tessera/data/image_files.h"
#include "tessera/data/labelled_images.h"
#include "tessera/training/objectives/objective_parts.h"

namespace tessera::training {
namespace {

class Classify final : public Objective {
   public:
    explicit Classify(const ObjectiveInputs& inputs)
        : classes_(inputs, classes_taught(inputs.recipe), inputs.model.class_names),
          set_(data::open_images(inputs.data, {.classes = classes_.names()})),
          images_(inputs),
          phases_(inputs) {
        data::check_image_files(set_->files(), inputs.on_progress);
    }

    std::int64_t examples() const override { return set_->size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<formats::Image> images;
        std::vector<std::int64_t> labels;
        for (const std::int64_t example : examples) {
            images.push_back(set_->image(example));
            labels.push_back(set_->label(example));
            check(labels.back() < static_cast<std::int64_t>(classes_.names().size()), set_->where(example), ": class ",
                  labels.back(), ", and the model has ", classes_.names().size());
        }
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()),
                             .origin = origin_of("images", examples)};
        result.inputs.pixel_values = images_.pixel_values(images);
        result.inputs.labels = Tensor::from(labels, {result.units});
        return result;
    }

    const char* unit() const override { return "images"; }
    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const override {
        return phases_.loss(model, batch, options, context);
    }

    std::vector<std::vector<std::string>> phases() const override { return phases_.names(); }

    Accuracy answers(const models::Model& model, const TrainingBatch& batch) const override {
        return highest_logits(model.forward(batch.inputs, batch.context), batch.inputs.labels);
    }
    std::vector<std::string> classes() const override { return classes_.names(); }

   private:
    ClassNames classes_;
    std::unique_ptr<data::LabelledImages> set_;
    ImageInput images_;
    LayerPhases phases_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Classify>(inputs); }
std::vector<std::string> classes_in(const Recipe& recipe) { return data::image_classes(recipe.train_data); }
const RegisterObjective registered{
    {.name = "classify",
     .make = make,
     .needs = models::Capability::ClassifyImages,
     .is_default = true,
     .next_command = "classify DIR PICTURE",
     .classes = classes_in,
     .under_new_head = {models::Capability::LearnClasses, models::Capability::EmbedImages}}};

}  // namespace
}  // namespace tessera::training
