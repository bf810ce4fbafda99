#include "tessera/inference/image_prompt.h"

#include "tessera/data/image_processor.h"
#include "tessera/inference/generator.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/views.h"

namespace tessera::inference {
namespace {

ImagePrompts tokens_of(const models::OpenedModel& model, std::span<const std::string> texts, std::int64_t images_each) {
    const models::Architecture& architecture = models::architecture_of(model.config);
    check(architecture.vision != nullptr && architecture.vision->prompt != nullptr, model.path.string(),
          ": a model of type ", architecture.model_type, " continues no texts about images");
    ImagePrompts prompts;
    for (const std::string& text : texts)
        prompts.ids.push_back(
            architecture.vision->prompt(model.config, model.text(), {.text = text, .images = images_each}).ids);
    prompts.batch = batch_of(prompts.ids);
    prompts.batch.input_ids = prompts.batch.input_ids.to(model.device);
    prompts.batch.attention_mask = prompts.batch.attention_mask.to(model.device);
    return prompts;
}

}  // namespace

ImagePrompts prompts_with_own_image(const models::OpenedModel& model, std::span<const std::string> texts,
                                    std::span<const formats::Image> images) {
    check(texts.size() == images.size(), texts.size(), " texts, and ", images.size(), " images");
    ImagePrompts prompts = tokens_of(model, texts, 1);
    prompts.batch.pixel_values = data::pixel_values(images, model.images()).to(model.device);
    return prompts;
}

ImagePrompts image_prompts(const models::OpenedModel& model, std::span<const std::string> texts,
                           std::span<const formats::Image> images) {
    ImagePrompts prompts = tokens_of(model, texts, static_cast<std::int64_t>(images.size()));
    // (rows · images, C, H, W): the same images for every row
    const Tensor pixels = data::pixel_values(images, model.images());
    const Shape& shape = pixels.shape();
    const auto rows = static_cast<std::int64_t>(texts.size());
    const Tensor repeated = ops::expand(ops::reshape(pixels, {1, shape[0], shape[1], shape[2], shape[3]}),
                                        {rows, shape[0], shape[1], shape[2], shape[3]});
    prompts.batch.pixel_values =
        ops::reshape(ops::contiguous(repeated), {rows * shape[0], shape[1], shape[2], shape[3]}).to(model.device);
    return prompts;
}

}  // namespace tessera::inference
