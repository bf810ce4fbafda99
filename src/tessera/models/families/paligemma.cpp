// PaliGemma 1 and 2 (Beyer et al. 2024; Steiner et al. 2024): SigLIP's patches, projected into the space of Gemma's
// embeddings, stand before the text.
//
//     [image] … [image] <bos> prompt \n | suffix <eos>
//     └────── prefix: sees itself ─────┘ └─ causal ──┘
//
// token_type_ids are 0 in the prefix and 1 in the suffix; without them everything given is prefix.
#include <algorithm>

#include "tessera/models/architecture.h"
#include "tessera/models/families/gemma.h"
#include "tessera/models/families/paligemma_prompt.h"
#include "tessera/models/families/siglip.h"
#include "tessera/models/vision/image_processor_defaults.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

// Where each row's suffix begins, (B).
Tensor prefix_lengths(const Tensor& token_type_ids, const Tensor& ids) {
    check(token_type_ids.shape() == ids.shape(), "token_type_ids: expected ", ids.shape(), ", found ",
          token_type_ids.shape());
    const std::vector<std::int64_t> types = token_type_ids.to_vector<std::int64_t>();
    const std::int64_t rows = ids.size(0), count = ids.size(1);
    std::vector<std::int64_t> lengths;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = types.begin() + row * count;
        lengths.push_back(std::find(begin, begin + count, 1) - begin);
    }
    return Tensor::from(lengths, {rows}).to(ids.device());
}

class PaliGemma : public Model {
   public:
    PaliGemma(const Config& settings, std::unique_ptr<Decoder> language)
        : vision_(settings.section("vision_config")),
          projector_(vision_.width(), language->width()),
          language_(std::move(language)),
          image_token_(paligemma_image_token(settings)) {
        config = settings;
        init_stds = {{"vision.", "", read_part_init_std(settings, "vision_config")},
                     {"", "", read_part_init_std(settings, "text_config")}};
        add_part(weights, siglip_vision_weights(), "vision.", "vision_tower.");
        weights.names.push_back({"projector", "multi_modal_projector.linear"});
        weights.names.push_back({"language.head", "lm_head"});
        add_part(weights, language_->weights, "language.", "language_model.");
        weights.ignored.push_back("lm_head.weight");
        weights.running = {{"model.language_model.", "language_model.model."},
                           {"model.vision_tower.", "vision_tower."},
                           {"model.multi_modal_projector.", "multi_modal_projector."}};
        weights.aliases = {{"vision_tower.embeddings.", "vision_tower.vision_model.embeddings."},
                           {"vision_tower.encoder.", "vision_tower.vision_model.encoder."},
                           {"vision_tower.post_layernorm.", "vision_tower.vision_model.post_layernorm."},
                           {"language_model.lm_head", "lm_head"}};
    }

    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Inputs inputs = prepare(batch, context);
        return language_->logits(language_->run(inputs.embedded, inputs.context, nullptr, observer));
    }

    Tensor loss(const Batch& batch, const nn::Context& context) const override {
        check(batch.token_type_ids.defined() && batch.labels.defined(),
              "token_type_ids and labels: both are needed to train, or the prefix would see the answer");
        const Inputs inputs = prepare(batch, context);
        return language_->next_token_loss(language_->run(inputs.embedded, inputs.context), batch.labels,
                                          inputs.context);
    }

    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t context_length() const override { return language_->context_length(); }
    std::int64_t vocabulary() const override { return language_->vocabulary(); }

    void visit(const nn::Visitor& visitor) override {
        visitor("vision", vision_);
        visitor("projector", projector_);
        visitor("language", language_);
    }

    struct Inputs {
        nn::Context context;
        Padding padding;
        Tensor embedded = {};  // (B, T, width)
    };
    Inputs prepare(const Batch& batch, const nn::Context& given) const {
        check(batch.input_ids.defined() && batch.input_ids.rank() == 2, "input_ids: expected (B, T), found ",
              batch.input_ids.shape());
        enum Use : std::uint64_t { InVision, InLanguage };
        Inputs inputs{.context = given.child(InLanguage), .padding = padding_of(batch.attention_mask)};
        const std::int64_t count = batch.input_ids.size(1);
        ops::AttentionMask mask = ops::AttentionMask::prefix(count);
        if (batch.token_type_ids.defined()) mask.prefix_lengths = prefix_lengths(batch.token_type_ids, batch.input_ids);
        inputs.padding.apply(mask);
        inputs.context.mask = mask;
        const Tensor positions = inputs.padding.positions.defined() ? inputs.padding.positions : Tensor::arange(count);
        inputs.context.positions =
            ops::add(positions, Tensor::scalar(1, DType::I64, positions.device())).to(batch.input_ids.device());
        inputs.embedded = embed(batch, inputs.context, given.child(InVision));
        return inputs;
    }

    const Decoder& language() const { return *language_; }

   private:
    // Rows of one table, the text's embeddings with the images' below them: each image token takes the next patch.
    Tensor embed(const Batch& batch, const nn::Context& context, const nn::Context& vision_context) const {
        std::vector<std::int64_t> ids = batch.input_ids.to_vector<std::int64_t>(), rows;
        const auto count = static_cast<std::int64_t>(ids.size());
        std::int64_t patches = 0;
        for (std::int64_t& id : ids) {
            const bool is_image = id == image_token_;
            rows.push_back(is_image ? count + patches++ : static_cast<std::int64_t>(rows.size()));
            if (is_image) id = 0;  // its own id may lie beyond the vocabulary
        }
        const std::int64_t images = batch.pixel_values.defined() ? batch.pixel_values.size(0) : 0;
        check(patches == images * vision_.patches(), "input_ids: ", patches, " image tokens (", image_token_, ") for ",
              images, " images of ", vision_.patches(), " patches");
        const Device device = batch.input_ids.device();
        const Tensor text = language_->embed(Tensor::from(ids, batch.input_ids.shape()).to(device), context);
        if (images == 0) return text;
        const std::int64_t width = text.size(2);
        const Tensor image = projector_.forward(vision_.forward(batch.pixel_values, vision_context), vision_context);
        const Tensor table =
            ops::concat({ops::reshape(text, {count, width}), ops::reshape(image, {patches, width})}, 0);
        return ops::embedding(table, Tensor::from(rows, batch.input_ids.shape()).to(device));
    }

    SiglipVision vision_;
    nn::Linear projector_;
    std::unique_ptr<Decoder> language_;
    std::int64_t image_token_;
};

// The prompt is all prefix; what is generated after it is causal. Positions count from 1.
class PaliGemmaSession : public DecoderSession {
   public:
    PaliGemmaSession(const PaliGemma& model, std::int64_t capacity)
        : DecoderSession(model.language(), capacity, 1), model_(model) {}

    Tensor prefill(const Batch& prompt) override {
        const NoGrad no_grad;
        const PaliGemma::Inputs inputs = model_.prepare(prompt, {});
        set_padding(inputs.padding);
        return advance(inputs.embedded, inputs.context);
    }

    bool truncate(std::int64_t) override { return false; }  // every token of a prompt has seen all of it

   private:
    const PaliGemma& model_;
};

std::unique_ptr<DecodingSession> PaliGemma::decode(std::int64_t capacity) const {
    return std::make_unique<PaliGemmaSession>(*this, capacity);
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
    return std::make_unique<PaliGemma>(config, std::move(language));
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
