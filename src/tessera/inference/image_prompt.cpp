#include "tessera/inference/image_prompt.h"

#include "tessera/data/image_processor.h"
#include "tessera/inference/generator.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/views.h"

namespace tessera::inference {
namespace {

PicturePrompts tokens_of(const std::filesystem::path& folder, const models::Config& config,
                         const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                         std::int64_t pictures_each, Device device) {
    const models::Architecture& architecture = models::architecture_of(config);
    check(architecture.vision != nullptr && architecture.vision->prompt != nullptr, folder.string(),
          ": a model of type ", architecture.model_type, " continues no texts about pictures");
    PicturePrompts prompts;
    for (const std::string& text : texts)
        prompts.ids.push_back(
            architecture.vision->prompt(config, tokenizer, {.text = text, .pictures = pictures_each}).ids);
    prompts.batch = batch_of(prompts.ids);
    prompts.batch.input_ids = prompts.batch.input_ids.to(device);
    prompts.batch.attention_mask = prompts.batch.attention_mask.to(device);
    return prompts;
}

}  // namespace

PicturePrompts prompts_with_own_picture(const std::filesystem::path& folder, const models::Config& config,
                                        const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                                        std::span<const formats::Image> pictures, Device device) {
    check(texts.size() == pictures.size(), texts.size(), " texts, and ", pictures.size(), " pictures");
    PicturePrompts prompts = tokens_of(folder, config, tokenizer, texts, 1, device);
    prompts.batch.pixel_values = data::pixel_values(pictures, models::picture_settings(folder, config)).to(device);
    return prompts;
}

PicturePrompts picture_prompts(const std::filesystem::path& folder, const models::Config& config,
                               const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                               std::span<const formats::Image> pictures, Device device) {
    PicturePrompts prompts =
        tokens_of(folder, config, tokenizer, texts, static_cast<std::int64_t>(pictures.size()), device);
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
