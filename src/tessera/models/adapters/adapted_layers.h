// The Hub's linear layers of a model, each with those of ours that it consists of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/models/model.h"
#include "tessera/nn/lora.h"

namespace tessera::models {

struct AdaptedLayer {
    std::vector<nn::Linear*> parts;  // several where the checkpoint keeps them fused, in its order
    std::int64_t groups = 1;         // with several, the rows of the parts alternate (WeightTransform::groups)
    bool transposed = false;         // the checkpoint has (in, out)
    bool is_usual = true;            // "all-linear" means it: no output layer, no router
    std::uint64_t number = 0;        // in the order of their names, for random keys

    std::int64_t in_width() const { return parts[0]->in_width(); }
    std::int64_t out_width() const;
    bool has_adapter() const { return parts[0]->adapter != nullptr; }

    // B of the Hub's layer from those of the parts, and back.
    Tensor joined(const std::vector<Tensor>& parts_up) const;
    std::vector<Tensor> split(const Tensor& up) const;
};

// A layer of the reference's whose weight its attention takes without asking the layer: PEFT gives it an adapter that
// does nothing.
bool is_read_past_adapters(const std::string& name);

// By the checkpoint's name. The output layer of a language model is not among them: its loss never calls it.
std::map<std::string, AdaptedLayer> adaptable_layers(Model& model);

}  // namespace tessera::models
