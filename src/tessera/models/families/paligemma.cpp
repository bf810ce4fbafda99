// PaliGemma 1 and 2 (Beyer et al. 2024; Steiner et al. 2024): SigLIP's patches, projected into the space of Gemma's
// embeddings, stand before the text.
//
//     [image] … [image] <bos> prompt \n | suffix <eos>
//     └────── prefix: sees itself ─────┘ └─ causal ──┘
#include "tessera/models/architecture.h"
#include "tessera/models/families/gemma.h"
#include "tessera/models/families/paligemma_prompt.h"
#include "tessera/models/families/siglip.h"
#include "tessera/models/vision/image_processor_defaults.h"
#include "tessera/models/vision/image_text_decoder.h"
#include "tessera/models/vision/vision.h"

namespace tessera::models {
namespace {

WeightTable paligemma_weights(const WeightTable& language) {
    WeightTable weights;
    add_part(weights, siglip_vision_weights(), "vision.", "vision_tower.");
    weights.names.push_back({"projector", "multi_modal_projector.linear"});
    weights.names.push_back({"language.head", "lm_head"});
    add_part(weights, language, "language.", "language_model.");
    weights.ignored.push_back("lm_head.weight");
    weights.module_aliases = {{"model.language_model.", "language_model.model."},
                              {"model.vision_tower.", "vision_tower."},
                              {"model.multi_modal_projector.", "multi_modal_projector."}};
    weights.aliases = {{"vision_tower.embeddings.", "vision_tower.vision_model.embeddings."},
                       {"vision_tower.encoder.", "vision_tower.vision_model.encoder."},
                       {"vision_tower.post_layernorm.", "vision_tower.vision_model.post_layernorm."},
                       {"language_model.lm_head", "lm_head"}};
    return weights;
}

std::unique_ptr<Decoder> read_language(const Config& config) {
    formats::Json fields = config.section("text_config").json();
    fields.set("tie_word_embeddings", config.boolean("tie_word_embeddings", true));  // the whole model's holds
    fields.set("final_logit_softcapping", 0);  // the reference gives these logits as they are
    const Config text(fields, config.source(), "text_config");
    const std::string type = text.text("model_type", "gemma");
    if (type == "gemma") return gemma_decoder(text);
    if (type == "gemma2") return gemma2_decoder(text);
    text.reject("model_type", text_of("'", type, "' is no decoder of this model; there are: gemma, gemma2"));
}

}  // namespace

static std::unique_ptr<Model> paligemma(const Config& config) {
    const Config vision = config.section("vision_config");
    const Images images = read_images(vision);
    for (const char* name : {"text_config", "vision_config"}) {
        const Config section = config.section(name);
        if (section.integer("num_image_tokens", images.patches()) != images.patches())
            section.reject("num_image_tokens", text_of("images of ", images.size, " in patches of ", images.patch,
                                                       " give ", images.patches(), " image tokens"));
    }
    std::unique_ptr<Decoder> language = read_language(config);
    const Config& projection = config.has("projection_dim") ? config : vision;
    const std::int64_t projected = read_size(projection, "projection_dim", 2048);
    if (projected != language->width())
        projection.reject("projection_dim",
                          text_of(projected, ", but text_config's hidden_size is ", language->width()));
    WeightTable weights = paligemma_weights(language->weights);
    auto model = std::make_unique<ImageTextDecoder>(config,
                                                    ImageTextParts{.vision = std::make_unique<SiglipVision>(vision),
                                                                   .language = std::move(language),
                                                                   .image_token = paligemma_image_token(config),
                                                                   .first_position = 1},
                                                    std::move(weights));
    model->init_stds = {{"vision.", "", read_part_init_std(config, "vision_config")},
                        {"", "", read_part_init_std(config, "text_config")}};
    return model;
}

static formats::ImageProcessorConfig images(const Config& config) {
    return with_size(siglip_images(), read_images(config.section("vision_config")).size);
}

static std::int64_t tokens(const Config& config) { return read_images(config.section("vision_config")).patches(); }

static constexpr Vision vision{.images = images,
                               .image_processor = "SiglipImageProcessor",
                               .processor = "PaliGemmaProcessor",
                               .tokens = tokens,
                               .prompt = paligemma_prompt};

static const RegisterArchitecture register_paligemma({"paligemma",
                                                      "Beyer et al., PaliGemma: A versatile 3B VLM for transfer, 2024",
                                                      paligemma, &vision});

}  // namespace tessera::models
