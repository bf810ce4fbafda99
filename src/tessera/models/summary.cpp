#include "tessera/models/summary.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/attention/latent.h"
#include "tessera/nn/experts.h"

namespace tessera::models {
namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string part_of(const std::string& name) {
    if (contains(name, "norm")) return "norms";
    if (contains(name, ".experts.")) return "experts";
    if (contains(name, ".router")) return "router";
    if (contains(name, ".shared.")) return "shared experts";
    if (contains(name, "cross_attention")) return "cross attention";
    if (contains(name, "attention")) return "attention";
    if (contains(name, "feed_forward")) return "feed-forward";
    if (contains(name, "tokens")) return "token embedding";
    if (contains(name, "position")) return "positions";
    return name.substr(0, name.find('.'));
}

// "encoder.layers.3.attention" belongs to layer 3 of "encoder"; null where a name belongs to no layer.
Stack* stack_of(std::vector<Stack>& stacks, const std::string& name) {
    constexpr std::string_view word = "layers.";
    const std::size_t inside = name.find(".layers.");
    if (!name.starts_with(word) && inside == name.npos) return nullptr;
    const std::size_t begin = name.starts_with(word) ? 0 : inside + 1;
    const std::string stack = name.substr(0, begin == 0 ? 0 : inside);
    std::int64_t layer = 0;
    std::from_chars(name.data() + begin + word.size(), name.data() + name.size(), layer);
    auto found = std::find_if(stacks.begin(), stacks.end(), [&](const Stack& s) { return s.name == stack; });
    if (found == stacks.end()) found = stacks.insert(stacks.end(), {.name = stack});
    found->layers = std::max(found->layers, layer + 1);
    return &*found;
}

// Whether a part only prepares what the text is made from: its tokens are not those that are generated.
bool is_encoder(const std::string& name) { return name.starts_with("encoder") || name.starts_with("vision"); }

// Looked up by id: costs no products.
bool is_lookup(const std::string& part) {
    return part == "token embedding" || part == "positions" || part == "token_types" || part == "log_probabilities";
}

struct Totals {
    Summary& summary;
    bool every_layer_slides = true;

    void attention(const std::string& name, const nn::DotProductSettings& s) {
        if (Stack* stack = stack_of(summary.stacks, name); stack && stack->heads == 0) {
            stack->width = s.width;
            stack->heads = s.heads;
            stack->kv_heads = s.kv_heads;
            stack->head_width = s.head_width;
        }
        if (is_encoder(name)) return;
        summary.operations_per_context_token += 4.0 * static_cast<double>(s.heads * s.head_width);
        if (contains(name, "cross_attention")) return;
        summary.cache_per_token += 2 * s.kv_heads * s.head_width;
        summary.full_cache_per_token += 2 * s.heads * s.head_width;
        every_layer_slides = every_layer_slides && s.window > 0;
        summary.window = std::max(summary.window, s.window);
    }

    void attention(const std::string& name, const nn::LatentSettings& s) {
        const std::int64_t key_width = s.content_width + s.rope_width;
        if (Stack* stack = stack_of(summary.stacks, name); stack && stack->heads == 0) {
            stack->width = s.width;
            stack->heads = stack->kv_heads = s.heads;
            stack->head_width = key_width;
        }
        summary.operations_per_context_token += 2.0 * static_cast<double>(s.heads * (key_width + s.value_width));
        summary.cache_per_token += s.latent + s.rope_width;
        summary.full_cache_per_token += s.heads * (key_width + s.value_width);
        every_layer_slides = false;
    }
};

}  // namespace

Summary summarise(Model& model) {
    Summary summary;
    Totals totals{summary};
    std::int64_t idle = 0;  // of experts that a token does not choose
    bool has_head = false;
    std::int64_t vocabulary_matrix = 0;
    std::set<std::pair<const Storage*, std::int64_t>> seen;  // many parameters may lie in one buffer
    const auto on_tensor = [&](const std::string& name, Tensor& tensor) {
        stack_of(summary.stacks, name);
        if (!seen.insert({tensor.storage().get(), tensor.offset()}).second) return;
        const std::string part = part_of(name);
        auto found =
            std::find_if(summary.parts.begin(), summary.parts.end(), [&](const Part& p) { return p.name == part; });
        if (found == summary.parts.end()) found = summary.parts.insert(summary.parts.end(), {part, 0});
        found->parameters += tensor.elements();
        summary.parameters += tensor.elements();
        has_head = has_head || part == "head";
        if (part == "token embedding") vocabulary_matrix = tensor.elements();
        if (part == "token embedding" && tensor.rank() == 2) summary.vocabulary = tensor.size(0);
        if (tensor.rank() >= 2 && !is_lookup(part))
            (is_encoder(name) ? summary.encoder_operations : summary.matrix_operations) +=
                2.0 * static_cast<double>(tensor.elements());
    };
    const auto on_module = [&](const std::string& name, nn::Module& module) {
        if (const auto* attention = dynamic_cast<const nn::DotProductAttention*>(&module))
            totals.attention(name, attention->settings());
        if (const auto* latent = dynamic_cast<const nn::LatentAttention*>(&module))
            totals.attention(name, latent->settings());
        if (const auto* experts = dynamic_cast<const nn::Experts*>(&module)) {
            const nn::ExpertsSettings& s = experts->settings();
            idle += 3 * s.width * s.hidden * (s.experts - s.routing.k);
        }
    };
    model.visit(nn::Visitor(on_tensor, on_module));
    summary.active_parameters = summary.parameters - idle;
    summary.matrix_operations -= 2.0 * static_cast<double>(idle);
    summary.generates = model.can(Capability::Generate);
    if (summary.generates && !has_head) summary.matrix_operations += 2.0 * static_cast<double>(vocabulary_matrix);
    if (!totals.every_layer_slides) summary.window = 0;
    return summary;
}

}  // namespace tessera::models
