// Texts about images (Beyer et al. 2024): image and prefix see each other, the suffix is predicted token by token,
// and only the suffix is learned. JSON lines {"image": path, "prefix": …, "suffix": …}, or a scene set (.scenes.json).
#include "tessera/core/parallel.h"
#include "tessera/data/image_files.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/training/objectives/image_examples.h"
#include "tessera/training/objectives/objective_parts.h"

namespace tessera::training {
namespace {

class Prefix final : public Objective {
   public:
    explicit Prefix(const ObjectiveInputs& inputs)
        : config_(inputs.model.config),
          tokenizer_(inputs.tokenizer),
          examples_(open_image_examples(inputs.data)),
          images_(inputs),
          length_(text_length(inputs)),
          context_(inputs.recipe.beyond_context ? 0 : inputs.model.context_length()),
          padding_(padding_id(inputs)) {
        tokenizer_of(inputs);
        data::check_image_files(examples_->files(), inputs.on_progress);
        prompt_ = models::architecture_of(config_).vision->prompt;
    }

    std::int64_t examples() const override { return examples_->size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<tokenizers::Ids> ids, types, labels;
        std::vector<formats::Image> images;
        std::int64_t tokens = 0;
        for (ImageExample& example : made(examples)) {
            models::PromptTokens row =
                prompt_(config_, *tokenizer_, {.text = example.prefix, .images = 1, .answer = example.suffix});
            cut(row, examples_->where(examples[images.size()]));
            images.push_back(std::move(example.image));
            tokens += static_cast<std::int64_t>(row.ids.size());
            labels.push_back(row.ids);
            for (std::size_t i = 0; i < row.ids.size(); ++i)
                if (row.types[i] == 0) labels.back()[i] = -100;
            ids.push_back(std::move(row.ids));
            types.push_back(std::move(row.types));
        }
        TrainingBatch result{.units = tokens, .origin = origin_of("lines", examples)};
        const PaddedRows rows = padded_rows(ids, padding_);
        result.inputs.input_ids = rows.ids;
        result.inputs.attention_mask = rows.mask;
        result.inputs.token_type_ids = padded_rows(types, 0).ids;
        result.inputs.labels = padded_rows(labels, -100).ids;
        result.inputs.pixel_values = images_.pixel_values(images);
        return result;
    }

   private:
    std::vector<ImageExample> made(const std::vector<std::int64_t>& examples) const {
        std::vector<ImageExample> list(examples.size());
        parallel_for(static_cast<std::int64_t>(list.size()), 1, [&](std::int64_t begin, std::int64_t end) {
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                list[i] = examples_->at(examples[i]);
        });
        return list;
    }

    // A suffix past data.length or the model's context loses its end.
    void cut(models::PromptTokens& row, const std::string& where) const {
        const auto prefix =
            static_cast<std::int64_t>(std::find(row.types.begin(), row.types.end(), 1) - row.types.begin());
        const auto all = static_cast<std::int64_t>(row.ids.size());
        check(all > prefix, where, ": there is no suffix to learn");
        check(context_ == 0 || prefix < context_, where, ": the image and the prefix are ", prefix,
              " tokens, and the model's context is ", context_);
        const std::int64_t most = context_ > 0 ? std::min(context_, prefix + length_) : prefix + length_;
        const auto kept = static_cast<std::size_t>(std::min(all, most));
        row.ids.resize(kept);
        row.types.resize(kept);
    }

    formats::Config config_;
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
    std::unique_ptr<ImageExamples> examples_;
    ImageInput images_;
    std::int64_t length_, context_, padding_;
    models::PromptTokens (*prompt_)(const formats::Config&, const tokenizers::Tokenizer&,
                                    const models::ImagePrompt&) = nullptr;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Prefix>(inputs); }
const RegisterObjective registered{{.name = "prefix",
                                    .make = make,
                                    .needs = models::Capability::DescribeImages,
                                    .is_default = true,
                                    .next_command = "generate DIR \"…\" --image PICTURE"}};

}  // namespace
}  // namespace tessera::training
