#include "tessera/models/adapters/adapted_layers.h"

#include <algorithm>

#include "tessera/models/adapters/stored_module.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// (rows, r) → (groups, rows / groups, r)
Tensor in_groups(const Tensor& x, std::int64_t groups) {
    return ops::reshape(x, {groups, x.size(0) / groups, x.size(1)});
}

}  // namespace

bool is_read_past_adapters(const std::string& name) { return name.ends_with("head.attention.out_proj"); }

std::int64_t AdaptedLayer::out_width() const {
    std::int64_t width = 0;
    for (const nn::Linear* part : parts) width += part->out_width();
    return width;
}

Tensor AdaptedLayer::joined(const std::vector<Tensor>& parts_up) const {
    if (parts_up.size() == 1) return parts_up[0];
    if (groups == 1) return ops::concat(parts_up, 0);
    std::vector<Tensor> grouped;
    for (const Tensor& up : parts_up) grouped.push_back(in_groups(up, groups));
    return ops::reshape(ops::concat(grouped, 1), {out_width(), parts_up[0].size(1)});
}

std::vector<Tensor> AdaptedLayer::split(const Tensor& up) const {
    if (parts.size() == 1) return {up};
    std::vector<Tensor> pieces;
    const Tensor grouped = in_groups(up, groups);
    std::int64_t at = 0;
    for (const nn::Linear* part : parts) {
        const std::int64_t rows = part->out_width() / groups;
        pieces.push_back(ops::reshape(ops::slice(grouped, 1, at, at + rows), {part->out_width(), up.size(1)}).clone());
        at += rows;
    }
    return pieces;
}

std::map<std::string, AdaptedLayer> adaptable_layers(Model& model) {
    // Beside experts PEFT takes the words of their layers for the experts themselves.
    const bool has_experts = std::any_of(model.weights.names.begin(), model.weights.names.end(),
                                         [](const WeightName& name) { return name.transform.stacked; });
    std::map<std::string, std::vector<std::pair<int, nn::Linear*>>> parts;
    std::map<std::string, AdaptedLayer> layers;
    nn::for_each_linear(model, [&](const std::string& ours, nn::Linear& linear) {
        const std::optional<StoredModule> stored = stored_module(model.weights, ours);
        const std::string word = last_word(ours);
        if (!linear.weight.defined() || !stored) return;
        const bool is_output = (word == "head" && stored->name != "text_model.head") || word == "decoder";
        if (is_output || is_read_past_adapters(stored->name)) return;
        parts[stored->name].emplace_back(stored->transform.part, &linear);
        AdaptedLayer& layer = layers[stored->name];
        layer.groups = stored->transform.groups;
        layer.transposed = stored->transform.transposed;
        layer.is_usual = word != "router" && word != "classifier" &&
                         !(has_experts && stored->name.find(".mlp.") != std::string::npos);
    });
    std::uint64_t number = 0;
    for (auto& [name, layer] : layers) {
        layer.number = number++;
        std::sort(parts[name].begin(), parts[name].end());
        for (const auto& [part, linear] : parts[name]) layer.parts.push_back(linear);
    }
    return layers;
}

}  // namespace tessera::models
