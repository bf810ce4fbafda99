// A decoder that reads images: the states of a vision tower's patches, projected into the space of the text's
// embeddings, stand where the text has image tokens.
//
//     [image] … [image] text | answer
//     └─── sees itself ──────┘ └ causal ┘
//
// token_type_ids are 0 in the prompt and 1 in the answer; without them everything given is prompt.
#pragma once

#include "tessera/models/decoder.h"
#include "tessera/models/vision/vision_tower.h"

namespace tessera::models {

struct ImageTextParts {
    std::unique_ptr<VisionTower> vision;
    std::unique_ptr<Decoder> language;
    std::int64_t image_token = 0;     // its id may lie beyond the vocabulary
    std::int64_t first_position = 0;  // of a text's first token
};

class ImageTextDecoder : public Model {
   public:
    ImageTextDecoder(const Config& config, ImageTextParts parts, WeightTable weights);

    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t context_length() const override { return parts_.language->context_length(); }
    std::int64_t vocabulary() const override { return parts_.language->vocabulary(); }
    void visit(const nn::Visitor& visitor) override;

    struct Inputs {
        nn::Context context;
        Padding padding;
        Tensor embedded = {};  // (B, T, width)
    };
    Inputs prepare(const Batch& batch, const nn::Context& context) const;

    const Decoder& language() const { return *parts_.language; }
    std::int64_t first_position() const { return parts_.first_position; }

   private:
    Tensor embed(const Batch& batch, const nn::Context& context, const nn::Context& vision_context) const;

    ImageTextParts parts_;
    nn::Linear projector_;
};

}  // namespace tessera::models
