#include "tessera/models/encoder.h"

#include <algorithm>

#include "tessera/models/class_names.h"
#include "tessera/models/padding.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"

namespace tessera::models {

bool has_masked_head(const Config& config) {
    if (!config.has("architectures")) return true;
    const std::vector<std::string> names = config.texts("architectures");
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining");
    });
}

std::int64_t read_text_classes(const Config& config) {
    if (!config.has("architectures")) return 0;
    const std::vector<std::string> names = config.texts("architectures");
    const bool classifies = std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name.ends_with("ForSequenceClassification");
    });
    return classifies ? read_class_count(config) : 0;
}

SequenceClassifier::SequenceClassifier(const EncoderParts& parts)
    : dense_(parts.width, parts.width),
      output_(parts.width, parts.classes),
      dropout_(parts.classifier_dropout),
      drops_first_state_(parts.drops_first_state) {}

Tensor SequenceClassifier::forward(const Tensor& hidden, const nn::Context& context) const {
    enum Use : std::uint64_t { OfState = 1u << 20, OfSummary };
    const Tensor first = ops::select(hidden, 1, 0);
    const Tensor state = drops_first_state_ ? nn::drop(first, dropout_, context, OfState) : first;
    return output_.forward(nn::drop(ops::tanh(dense_.forward(state, context)), dropout_, context, OfSummary), context);
}

void SequenceClassifier::visit(const nn::Visitor& visitor) {
    visitor("dense", dense_);
    visitor("output", output_);
}

MaskedHead::MaskedHead(const EncoderParts& parts)
    : dense_(parts.width, parts.width),
      norm_(parts.width, parts.norm_eps),
      bias_(Tensor::deferred({parts.vocabulary})),
      activation_(parts.head_activation) {
    if (!parts.tied) decoder_ = nn::Linear(parts.width, parts.vocabulary, false);
}

Tensor MaskedHead::forward(const Tensor& hidden, const nn::Embedding& tokens, const nn::Context& context) const {
    const Tensor x = norm_.forward(nn::activate(activation_, dense_.forward(hidden, context)));
    return ops::linear(x, decoder_.weight.defined() ? decoder_.weight : tokens.weight, bias_);
}

void MaskedHead::visit(const nn::Visitor& visitor) {
    visitor("dense", dense_);
    visitor("norm", norm_);
    if (decoder_.weight.defined()) visitor("decoder", decoder_);
    visitor("bias", bias_);
}

Encoder::Encoder(const Config& settings, EncoderParts parts, WeightTable table)
    : tokens_(parts.vocabulary, parts.width),
      positions_(parts.positions, parts.width),
      token_types_(parts.token_types, parts.width),
      embedding_norm_(parts.width, parts.norm_eps),
      padding_id_(parts.padding_id),
      dropout_(parts.dropout),
      problem_(settings.text("problem_type", "single_label_classification")),
      first_sees_all_(parts.first_sees_all && parts.classes > 0) {
    tokens_.padding_id = parts.unlearned_id;
    if (padding_id_) positions_.padding_id = *padding_id_;
    if (parts.has_head) head_ = std::make_unique<MaskedHead>(parts);
    if (parts.classes > 0) classifier_ = std::make_unique<SequenceClassifier>(parts);
    stack_ = nn::Stack(std::move(parts.blocks), nullptr);
    config = settings;
    capabilities = {Capability::EmbedTexts, Capability::LearnClasses};
    class_names = read_class_names(settings, parts.classes);
    if (classifier_)
        capabilities.add(Capability::ClassifyTexts);
    else if (head_)
        capabilities.add(Capability::Fill);
    weights = std::move(table);
}

Tensor Encoder::positions_of(const Tensor& ids) const {
    const std::int64_t rows = ids.size(0), count = ids.size(1), first = first_position();
    check(count <= longest_text(), "input_ids: ", count, " tokens, but the model has positions for ", longest_text());
    if (!padding_id_) return Tensor::arange(count).to(ids.device());
    std::vector<std::int64_t> positions = ids.to_vector<std::int64_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t next = first;
        for (auto at = positions.begin() + row * count; at != positions.begin() + (row + 1) * count; ++at)
            *at = *at == *padding_id_ ? *padding_id_ : next++;
    }
    return Tensor::from(positions, {rows, count}).to(ids.device());
}

Tensor Encoder::embed(const Batch& batch, const nn::Context& context) const {
    const Tensor& ids = batch.input_ids;
    check(ids.rank() == 2 && ids.size(1) > 0, "input_ids: expected (B, T), found ", ids.shape());
    const Tensor types =
        batch.token_type_ids.defined() ? batch.token_type_ids : Tensor::zeros(ids.shape(), DType::I64, ids.device());
    check(types.shape() == ids.shape(), "token_type_ids: expected ", ids.shape(), ", found ", types.shape());
    const Tensor words =
        ops::add(to_residual_dtype(tokens_.forward(ids)), to_residual_dtype(token_types_.forward(types)));
    const Tensor x = ops::add(words, to_residual_dtype(positions_.forward(positions_of(ids))));
    return nn::drop(embedding_norm_.forward(x), dropout_, context, stack_.blocks.size());
}

Tensor Encoder::encode(const Batch& batch, const nn::Context& given, const Observer& observer) const {
    nn::Context context = given;
    const Tensor embedded = embed(batch, context);
    const auto check_mask = [&](const char* name, const Tensor& mask) {
        check(!mask.defined() || mask.shape() == batch.input_ids.shape(), name, ": expected ", batch.input_ids.shape(),
              ", found ", mask.shape());
    };
    check_mask("attention_mask", batch.attention_mask);
    check_mask("global_attention_mask", batch.global_attention_mask);
    padding_of(batch.attention_mask).apply(context.mask);
    if (batch.global_attention_mask.defined()) {
        context.global_tokens = batch.global_attention_mask.to(DType::Bool);
    } else if (first_sees_all_) {
        context.global_tokens = Tensor::zeros(batch.input_ids.shape(), DType::Bool, batch.input_ids.device());
        ops::slice(context.global_tokens, 1, 0, 1).fill(1);
    }
    if (!observer) return stack_.forward(embedded, context);
    observer("hidden_after_embed", embedded);
    const Tensor hidden = stack_.forward(embedded, context, nullptr, [&](std::size_t block, const Tensor& output) {
        observer(text_of("hidden_after_layer_", block + 1), output);
    });
    observer("last_hidden", hidden);
    return hidden;
}

Tensor Encoder::forward(const Batch& batch, const nn::Context& context, const Observer& observer) const {
    const Tensor hidden = encode(batch, context, observer);
    if (classifier_) return classifier_->forward(hidden, context);
    return head_ ? head_->forward(hidden, tokens_, context) : hidden;
}

// Most tokens of a masked text are not asked for, and the head is as wide as the vocabulary: it sees only those that
// are.
Tensor Encoder::masked_loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    const std::vector<std::int64_t> labels = batch.labels.to_vector<std::int64_t>();
    std::vector<std::int64_t> places, wanted;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == -100) continue;
        places.push_back(static_cast<std::int64_t>(i));
        wanted.push_back(labels[i]);
    }
    if (places.empty()) return ops::cross_entropy(forward(batch, context), batch.labels, options.cross_entropy());
    const Device device = batch.labels.device();
    const Shape shape{static_cast<std::int64_t>(places.size())};
    const Tensor hidden = encode(batch, context);  // (B, T, width)
    const Tensor asked = ops::embedding(ops::reshape(hidden, {batch.labels.elements(), hidden.size(2)}),
                                        Tensor::from(places, shape).to(device));
    return ops::cross_entropy(head_->forward(asked, tokens_, context), Tensor::from(wanted, shape).to(device),
                              options.cross_entropy());
}

Tensor Encoder::loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    check(head_ || classifier_, config.source(),
          ": architectures: a model without a language-model head or a classifier has no loss");
    check(!classifier_ || problem_ == "single_label_classification", config.source(), ": problem_type: '", problem_,
          "' has a loss that is not known");
    const Shape expected = classifier_ ? Shape{batch.input_ids.size(0)} : batch.input_ids.shape();
    check(batch.labels.defined() && batch.labels.shape() == expected, "labels: expected ", expected, ", found ",
          batch.labels.shape());
    if (!classifier_) return masked_loss(batch, options, context);
    return ops::cross_entropy(forward(batch, context), batch.labels, options.cross_entropy());
}

void Encoder::visit(const nn::Visitor& visitor) {
    visitor("tokens", tokens_);
    visitor("positions", positions_);
    visitor("token_types", token_types_);
    visitor("embedding_norm", embedding_norm_);
    stack_.visit(visitor);
    visitor("head", head_);
    visitor("classifier", classifier_);
}

}  // namespace tessera::models
