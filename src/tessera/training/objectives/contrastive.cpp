// Images and texts that belong together (Zhai et al. 2023): within a batch, image i belongs to text i and to no
// other. JSON lines {"image": path, "text": …}; data.field names the text.
#include "tessera/data/image_files.h"
#include "tessera/data/image_texts.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/run/initial_model.h"

namespace tessera::training {
namespace {

class Contrastive final : public Objective {
   public:
    explicit Contrastive(const ObjectiveInputs& inputs)
        : config_(inputs.model.config),
          folder_(model_folder(inputs.recipe)),
          tokenizer_(inputs.tokenizer),
          lines_(data::files_ending(inputs.data, {".jsonl", ".ndjson"}), {inputs.recipe.field}),
          images_(inputs) {
        tokenizer_of(inputs);
        data::check_image_files(lines_.images(), inputs.on_progress);
        texts_ = models::architecture_of(config_).vision->texts;
    }

    std::int64_t examples() const override { return lines_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<std::string> texts;
        std::vector<formats::Image> images;
        for (const std::int64_t example : examples) {
            data::ImageTexts::Example line = lines_.at(example);
            images.push_back(formats::read_image(line.image));
            texts.push_back(std::move(line.texts[0]));
        }
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()),
                             .origin = origin_of("lines", examples)};
        result.inputs.input_ids = padded_rows(texts_(config_, folder_, *tokenizer_, texts), 0).ids;
        result.inputs.pixel_values = images_.pixel_values(images);
        return result;
    }

    const char* unit() const override { return "images"; }

   private:
    formats::Config config_;
    std::filesystem::path folder_;
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
    data::ImageTexts lines_;
    ImageInput images_;
    std::vector<tokenizers::Ids> (*texts_)(const formats::Config&, const std::filesystem::path&,
                                           const tokenizers::Tokenizer&, const std::vector<std::string>&) = nullptr;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Contrastive>(inputs); }
const RegisterObjective registered{{.name = "contrastive",
                                    .make = make,
                                    .needs = models::Capability::CompareImages,
                                    .is_default = true,
                                    .metrics = {Metric::Retrieval},
                                    .next_command = "classify DIR PICTURE --labels …"}};

}  // namespace
}  // namespace tessera::training
