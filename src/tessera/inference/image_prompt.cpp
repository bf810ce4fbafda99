#include "tessera/inference/image_prompt.h"

#include "tessera/data/image_processor.h"
#include "tessera/inference/generator.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/views.h"

namespace tessera::inference {
namespace {

ImagePrompts tokens_of(const std::filesystem::path& folder, const models::Config& config,
                       const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                       std::int64_t images_each, Device device) {
    const models::Architecture& architecture = models::architecture_of(config);
    check(architecture.vision != nullptr && architecture.vision->prompt != nullptr, folder.string(),
          ": a model of type ", architecture.model_type, " continues no texts about images");
    ImagePrompts prompts;
    for (const std::string& text : texts)
        prompts.ids.push_back(
            architecture.vision->prompt(config, tokenizer, {.text = text, .images = images_each}).ids);
    prompts.batch = batch_of(prompts.ids);
    prompts.batch.input_ids = prompts.batch.input_ids.to(device);
    prompts.batch.attention_mask = prompts.batch.attention_mask.to(device);
    return prompts;
}

}  // namespace

ImagePrompts prompts_with_own_image(const std::filesystem::path& folder, const models::Config& config,
                                    const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                                    std::span<const formats::Image> images, Device device) {
    check(texts.size() == images.size(), texts.size(), " texts, and ", images.size(), " images");
    ImagePrompts prompts = tokens_of(folder, config, tokenizer, texts, 1, device);
    prompts.batch.pixel_values = data::pixel_values(images, models::image_processor_config(folder, config)).to(device);
    return prompts;
}

ImagePrompts image_prompts(const std::filesystem::path& folder, const models::Config& config,
                           const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                           std::span<const formats::Image> images, Device device) {
    ImagePrompts prompts =
        tokens_of(folder, config, tokenizer, texts, static_cast<std::int64_t>(images.size()), device);
    // (rows · images, C, H, W): the same images for every row
    const Tensor pixels = data::pixel_values(images, models::image_processor_config(folder, config));
    const Shape& shape = pixels.shape();
    const auto rows = static_cast<std::int64_t>(texts.size());
    const Tensor repeated = ops::expand(ops::reshape(pixels, {1, shape[0], shape[1], shape[2], shape[3]}),
                                        {rows, shape[0], shape[1], shape[2], shape[3]});
    prompts.batch.pixel_values =
        ops::reshape(ops::contiguous(repeated), {rows * shape[0], shape[1], shape[2], shape[3]}).to(device);
    return prompts;
}

}  // namespace tessera::inference
