#include "tessera/models/vision/image_processor_defaults.h"

#include "tessera/core/error.h"
#include "tessera/formats/find_file.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"

namespace tessera::models {
namespace {

using formats::ImageProcessorConfig;
using formats::Resampling;

struct Processor {
    const char* name;  // of ViTImageProcessor, ViTImageProcessorFast, ViTFeatureExtractor, …
    ImageProcessorConfig (*defaults)();
};

constexpr Processor processors[] = {
    {"ViT", vit_images}, {"DeiT", deit_images}, {"CLIP", clip_images}, {"Siglip", siglip_images}};

ImageProcessorConfig defaults_of(const Config& config, const Config& model, const Architecture& architecture) {
    const char* field = config.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    if (!config.has(field)) return architecture.vision->images(model);
    const std::string type = config.text(field);
    std::string known;
    for (const Processor& processor : processors) {
        for (const char* ending : {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
            if (type == text_of(processor.name, ending)) return processor.defaults();
        known += text_of(known.empty() ? "" : ", ", processor.name, "ImageProcessor");
    }
    config.reject(field, text_of("'", type, "' is not known; there are: ", known));
}

}  // namespace

ImageProcessorConfig vit_images() { return {.resampling = Resampling::Bilinear}; }

ImageProcessorConfig deit_images() { return {.size = {.height = 256, .width = 256}, .crops = true}; }

ImageProcessorConfig clip_images() {
    return {.size = {.shortest_edge = 224},
            .one_number_is_square = false,
            .crops = true,
            .mean = {0.48145466, 0.4578275, 0.40821073},
            .deviation = {0.26862954, 0.26130258, 0.27577711}};
}

ImageProcessorConfig siglip_images() { return {.one_number_is_square = false}; }

ImageProcessorConfig with_size(ImageProcessorConfig settings, std::int64_t size) {
    settings.size = settings.crop = {.height = size, .width = size};
    return settings;
}

ImageProcessorConfig image_processor_config(const std::filesystem::path& folder, const Config& model) {
    const Architecture& architecture = architecture_of(model);
    check(architecture.vision != nullptr, folder.string(), ": a model of type ", architecture.model_type,
          " looks at no images");
    const ImageProcessorConfig own = architecture.vision->images(model);
    const auto read = [&](const Config& config) {
        ImageProcessorConfig defaults = defaults_of(config, model, architecture);
        defaults.grey = own.grey;  // the model's input, of which a processor knows nothing
        return read_image_processor_config(config, defaults);
    };
    const std::filesystem::path newer = formats::find_file(folder, "processor_config.json"),
                                older = formats::find_file(folder, "preprocessor_config.json");
    if (!newer.empty()) {
        const Config processor(formats::Json::read(newer), newer.string());
        if (processor.has("image_processor")) return read(processor.section("image_processor"));
    }
    // Adapters may leave that to their base.
    if (older.empty() && is_adapter_folder(folder)) return image_processor_config(base_of_adapters(folder), model);
    if (older.empty()) return own;
    return read(Config(formats::Json::read(older), older.string()));
}

formats::Json image_processor_json(const Config& model) {
    const Vision* vision = architecture_of(model).vision;
    if (!vision || !vision->image_processor) return {};
    formats::Json json = written(vision->images(model));
    json.set("image_processor_type", vision->image_processor);
    if (vision->processor) json.set("processor_class", vision->processor);
    if (vision->tokens) json.set("image_seq_length", vision->tokens(model));
    return json;
}

}  // namespace tessera::models
