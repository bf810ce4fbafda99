// RandomSequence a block: the residual stream runs down on the left, each part hangs on it to the right.
#include <map>

#include "tessera/models/summary.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/attention/latent.h"
#include "tessera/nn/blocks/block.h"
#include "tessera/nn/blocks/cross_block.h"
#include "tessera/nn/experts.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

// A part's children by their short names.
using Children = std::map<std::string, nn::Module*>;

Children children_of(nn::Module& module) {
    Children children;
    module.visit(nn::Visitor({}, [&](const std::string& name, nn::Module& inside) {
        if (name.find('.') == std::string::npos) children[name] = &inside;
    }));
    return children;
}

std::string describe(const nn::DotProductSettings& s) {
    std::string text = text_of(s.heads, " heads of ", s.head_width);
    if (s.kv_heads == 1 && s.heads > 1)
        text += ", one key and value for all (MQA)";
    else if (s.kv_heads != s.heads)
        text += text_of(", ", s.kv_heads, " for keys and values (GQA)");
    if (s.rope) text += text_of(", rotary positions θ = ", s.rope->theta);
    if (s.alibi) text += ", ALiBi";
    if (s.window > 0) text += text_of(", window ", s.window);
    if (s.query_key_norm) text += ", query and key normed";
    if (s.soft_cap > 0) text += text_of(", scores capped at ", s.soft_cap);
    return text;
}

std::string describe(const nn::LatentSettings& s) {
    return text_of(s.heads, " heads of ", s.content_width, " + ", s.rope_width, ", keys and values from a latent of ",
                   s.latent, " (MLA)");
}

const char* name_of(nn::Activation activation, bool gated) {
    switch (activation) {
        case nn::Activation::Relu: return gated ? "ReGLU" : "ReLU";
        case nn::Activation::Silu: return gated ? "SwiGLU" : "SiLU";
        default: return gated ? "GeGLU" : "GELU";
    }
}

std::string describe(nn::Module& module) {
    if (dynamic_cast<nn::RmsNorm*>(&module)) return "RMSNorm";
    if (dynamic_cast<nn::LayerNorm*>(&module)) return "LayerNorm";
    if (const auto* attention = dynamic_cast<nn::DotProductAttention*>(&module))
        return text_of("attention: ", describe(attention->settings()));
    if (const auto* latent = dynamic_cast<nn::LatentAttention*>(&module))
        return text_of("attention: ", describe(latent->settings()));
    if (const auto* network = dynamic_cast<nn::FeedForward*>(&module))
        return text_of("feed-forward: ", name_of(network->activation, network->gated), " ", network->up.in_width(),
                       " → ", network->up.out_width(), " → ", network->up.in_width());
    if (const auto* experts = dynamic_cast<nn::Experts*>(&module)) {
        const nn::ExpertsSettings& s = experts->settings();
        std::string text = text_of("experts: ", s.routing.k, " of ", s.experts, ", each ", name_of(s.activation, true),
                                   " ", s.width, " → ", s.hidden, " → ", s.width);
        if (s.shared_hidden > 0) text += text_of(", and a shared one of ", s.shared_hidden);
        return text;
    }
    return "attention";
}

class Drawing {
   public:
    void open() { text_ += "  ├──────┐\n"; }
    void inside(nn::Module* module, const char* prefix = "") {
        if (module) text_ += text_of("  │      ", prefix, describe(*module), "\n");
    }
    void close() { text_ += "  ⊕──────┘\n"; }
    void on_stream(nn::Module* module) {
        if (module) text_ += text_of("  ", describe(*module), "\n");
    }
    void branch(std::initializer_list<nn::Module*> parts) {
        open();
        for (nn::Module* part : parts) inside(part);
        close();
    }
    std::string take() { return text_ + "  │\n"; }

   private:
    std::string text_ = "  │\n";
};

std::string draw(nn::Block& block) {
    Children parts = children_of(block);
    Drawing drawing;
    if (dynamic_cast<nn::PostNormBlock*>(&block)) {
        drawing.branch({parts["attention"]});
        drawing.on_stream(parts["attention_norm"]);
        drawing.branch({parts["feed_forward"]});
        drawing.on_stream(parts["feed_forward_norm"]);
    } else if (dynamic_cast<nn::ParallelBlock*>(&block)) {
        if (parts["feed_forward_norm"]) {
            drawing.branch({parts["attention_norm"], parts["attention"]});
            drawing.branch({parts["feed_forward_norm"], parts["feed_forward"]});
        } else {
            drawing.branch({parts["attention_norm"], parts["attention"], parts["feed_forward"]});
        }
        return drawing.take() + "  both parts read the block's input, side by side\n";
    } else {
        drawing.branch({parts["attention_norm"], parts["attention"], parts["after_attention_norm"]});
        drawing.branch({parts["feed_forward_norm"], parts["feed_forward"], parts["after_feed_forward_norm"]});
    }
    return drawing.take();
}

std::string draw(nn::CrossBlock& block) {
    Children parts = children_of(block);
    Drawing drawing;
    for (const std::string part : {"self_attention", "cross_attention", "feed_forward"}) {
        const bool before = block.norms() == nn::NormPlacement::Before;
        drawing.open();
        if (before) drawing.inside(parts[text_of(part, "_norm")]);
        drawing.inside(parts[part], part == "cross_attention" ? "cross " : "");
        drawing.close();
        if (!before) drawing.on_stream(parts[text_of(part, "_norm")]);
    }
    return drawing.take();
}

}  // namespace

std::string draw_blocks(Model& model) {
    std::string text;
    std::vector<std::pair<std::string, std::string>> drawn;  // a drawing, and the blocks that look like it
    const auto add = [&](const std::string& name, const std::string& drawing) {
        for (auto& [known, names] : drawn)
            if (known == drawing) return;
        drawn.emplace_back(drawing, name);
    };
    model.visit(nn::Visitor({}, [&](const std::string& name, nn::Module& module) {
        if (auto* block = dynamic_cast<nn::Block*>(&module)) add(name, draw(*block));
        if (auto* cross = dynamic_cast<nn::CrossBlock*>(&module)) add(name, draw(*cross));
    }));
    for (const auto& [drawing, name] : drawn) text += text_of(name, "\n", drawing);
    return text;
}

}  // namespace tessera::models
