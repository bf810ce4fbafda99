#include "tessera/models/vision/image_text_decoder.h"

#include <algorithm>

#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

// Where each row's answer begins, (B).
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

// The prompt is all prefix; what is generated after it is causal.
class ImageTextSession : public DecoderSession {
   public:
    ImageTextSession(const ImageTextDecoder& model, std::int64_t capacity)
        : DecoderSession(model.language(), capacity, model.first_position()), model_(model) {}

    Tensor prefill(const Batch& prompt) override {
        const NoGrad no_grad;
        const ImageTextDecoder::Inputs inputs = model_.prepare(prompt, {});
        set_padding(inputs.padding);
        return advance(inputs.embedded, inputs.context);
    }

    bool truncate(std::int64_t) override { return false; }  // every token of a prompt has seen all of it

   private:
    const ImageTextDecoder& model_;
};

}  // namespace

ImageTextDecoder::ImageTextDecoder(const Config& settings, ImageTextParts parts, WeightTable table)
    : parts_(std::move(parts)), projector_(parts_.vision->width(), parts_.language->width()) {
    config = settings;
    capabilities = {Capability::Generate, Capability::EmbedTexts, Capability::DescribeImages};
    weights = std::move(table);
}

Tensor ImageTextDecoder::forward(const Batch& batch, const nn::Context& context, const Observer& observer) const {
    const Inputs inputs = prepare(batch, context);
    return language().logits(language().run(inputs.embedded, inputs.context, nullptr, observer));
}

Tensor ImageTextDecoder::loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    check(batch.token_type_ids.defined() && batch.labels.defined(),
          "token_type_ids and labels: both are needed to train, or the prefix would see the answer");
    const Inputs inputs = prepare(batch, context);
    return language().next_token_loss(language().run(inputs.embedded, inputs.context), batch.labels, options);
}

std::unique_ptr<DecodingSession> ImageTextDecoder::decode(std::int64_t capacity) const {
    return std::make_unique<ImageTextSession>(*this, capacity);
}

void ImageTextDecoder::visit(const nn::Visitor& visitor) {
    visitor("vision", parts_.vision);
    visitor("projector", projector_);
    visitor("language", parts_.language);
}

ImageTextDecoder::Inputs ImageTextDecoder::prepare(const Batch& batch, const nn::Context& given) const {
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
    const Tensor first = Tensor::scalar(static_cast<double>(first_position()), DType::I64, positions.device());
    inputs.context.positions = ops::add(positions, first).to(batch.input_ids.device());
    inputs.embedded = embed(batch, inputs.context, given.child(InVision));
    return inputs;
}

// Rows of one table, the text's embeddings with the images' below them: each image token takes the next patch.
Tensor ImageTextDecoder::embed(const Batch& batch, const nn::Context& context,
                               const nn::Context& vision_context) const {
    std::vector<std::int64_t> ids = batch.input_ids.to_vector<std::int64_t>(), rows;
    const auto count = static_cast<std::int64_t>(ids.size());
    std::int64_t patches = 0;
    for (std::int64_t& id : ids) {
        const bool is_image = id == parts_.image_token;
        rows.push_back(is_image ? count + patches++ : static_cast<std::int64_t>(rows.size()));
        if (is_image) id = 0;
    }
    const std::int64_t images = batch.pixel_values.defined() ? batch.pixel_values.size(0) : 0;
    check(patches == images * parts_.vision->patches(), "input_ids: ", patches, " image tokens (", parts_.image_token,
          ") for ", images, " images of ", parts_.vision->patches(), " patches");
    const Device device = batch.input_ids.device();
    const Tensor text = language().embed(Tensor::from(ids, batch.input_ids.shape()).to(device), context);
    if (images == 0) return text;
    const std::int64_t width = text.size(2);
    const Tensor image = projector_.forward(parts_.vision->forward(batch.pixel_values, vision_context), vision_context);
    const Tensor table = ops::concat({ops::reshape(text, {count, width}), ops::reshape(image, {patches, width})}, 0);
    return ops::embedding(table, Tensor::from(rows, batch.input_ids.shape()).to(device));
}

}  // namespace tessera::models
