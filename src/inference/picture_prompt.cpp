#include "inference/picture_prompt.h"

#include "data/picture_processor.h"
#include "inference/generator.h"
#include "models/catalog.h"
#include "models/vision.h"
#include "ops/views.h"

namespace tessera::inference {

PicturePrompts picture_prompts(const std::filesystem::path& folder, const models::Config& config,
                               const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                               std::span<const formats::Image> pictures, Device device) {
    const models::Architecture& architecture = models::architecture_of(config);
    check(architecture.vision != nullptr && architecture.vision->prompt != nullptr, folder.string(),
          ": a model of type ", architecture.model_type, " continues no texts about pictures");
    PicturePrompts prompts;
    for (const std::string& text : texts)
        prompts.ids.push_back(
            architecture.vision
                ->prompt(config, tokenizer, {.text = text, .pictures = static_cast<std::int64_t>(pictures.size())})
                .ids);
    prompts.batch = batch_of(prompts.ids);
    prompts.batch.input_ids = prompts.batch.input_ids.to(device);
    prompts.batch.attention_mask = prompts.batch.attention_mask.to(device);
    // (rows · pictures, C, H, W): the same pictures for every row
    const Tensor pixels = data::pixel_values(pictures, models::picture_settings(folder, config));
    const Shape& shape = pixels.shape();
    const auto rows = static_cast<std::int64_t>(texts.size());
    const Tensor repeated = ops::expand(ops::reshape(pixels, {1, shape[0], shape[1], shape[2], shape[3]}),
                                        {rows, shape[0], shape[1], shape[2], shape[3]});
    prompts.batch.pixel_values =
        ops::reshape(ops::contiguous(repeated), {rows * shape[0], shape[1], shape[2], shape[3]}).to(device);
    return prompts;
}

}  // namespace tessera::inference
