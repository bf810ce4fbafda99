// Images rebuilt from a code: end to end, or one layer after another, each rebuilding what the one below it gives.
#include "tessera/data/image_files.h"
#include "tessera/data/labelled_images.h"
#include "tessera/training/objectives/objective_parts.h"

namespace tessera::training {
namespace {

class Autoencode final : public Objective {
   public:
    explicit Autoencode(const ObjectiveInputs& inputs)
        : set_(data::open_images(inputs.data, {.with_labels = false})), images_(inputs), phases_(inputs) {
        data::check_image_files(set_->files(), inputs.on_progress);
    }

    std::int64_t examples() const override { return set_->size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<formats::Image> images;
        for (const std::int64_t example : examples) images.push_back(set_->image(example));
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()),
                             .origin = origin_of("images", examples)};
        result.inputs.pixel_values = images_.pixel_values(images);
        return result;
    }

    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const override {
        return phases_.loss(model, batch, options, context);
    }

    std::vector<std::vector<std::string>> phases() const override { return phases_.names(); }

    const char* unit() const override { return "images"; }

   private:
    std::unique_ptr<data::LabelledImages> set_;
    ImageInput images_;
    LayerPhases phases_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Autoencode>(inputs); }
const RegisterObjective registered{
    {.name = "autoencode", .make = make, .needs = models::Capability::Reconstruct, .is_default = true}};

}  // namespace
}  // namespace tessera::training
