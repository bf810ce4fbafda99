#include "tessera/models/import/gguf_checkpoint.h"

#include <map>
#include <set>

#include "tessera/formats/gguf_types.h"
#include "tessera/models/import/gguf_config.h"
#include "tessera/models/import/rope_rows.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using formats::Checkpoint;
using formats::Gguf;
using Names = std::map<std::string, std::string>;

// Parts of a block, without "blk.N." and ".weight": the file's name → the Hub's.
Names block_names(const std::string& architecture) {
    Names names{{"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
                {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
                {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
                {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
                {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
                {"ffn_down", "mlp.down_proj"},       {"ffn_gate_inp", "block_sparse_moe.gate"},
                {"attn_qkv", "self_attn.qkv_proj"}};
    if (architecture == "phi3") names["ffn_up"] = "mlp.gate_up_proj";
    if (architecture == "gemma2" || architecture == "gemma3") {
        names["post_attention_norm"] = "post_attention_layernorm";
        names["ffn_norm"] = "pre_feedforward_layernorm";
        names["post_ffw_norm"] = "post_feedforward_layernorm";
    }
    return names;
}

const Names expert_names{{"ffn_gate_exps", "w1"}, {"ffn_down_exps", "w2"}, {"ffn_up_exps", "w3"}};
const Names other_names{{"token_embd.weight", "model.embed_tokens.weight"},
                        {"output_norm.weight", "model.norm.weight"},
                        {"output.weight", "lm_head.weight"}};
// Read into the config, where they are known.
const std::set<std::string> frequencies{"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};

// A model computes in one float dtype: the one all its matrices have, or f32 where they differ or are quantised.
DType compute_dtype(const Gguf& gguf) {
    std::set<DType> dtypes;
    for (const auto& [name, tensor] : gguf.tensors)
        if (tensor.rank() >= 2) dtypes.insert(tensor.dtype());
    return dtypes.size() == 1 && is_float(*dtypes.begin()) ? *dtypes.begin() : DType::F32;
}

const char* hub_name(DType dtype) {
    switch (dtype) {
        case DType::F64: return "float64";
        case DType::F16: return "float16";
        case DType::BF16: return "bfloat16";
        default: return "float32";
    }
}

class Converter {
   public:
    explicit Converter(const Gguf& gguf)
        : gguf_(gguf),
          architecture_(gguf.text("general.architecture")),
          block_names_(block_names(architecture_)),
          heads_(gguf_heads(gguf)),
          dtype_(compute_dtype(gguf)) {}

    formats::TensorMap convert() {
        const NoGrad no_grad;
        for (const auto& [name, tensor] : gguf_.tensors) {
            if (frequencies.contains(name)) continue;
            if (const auto known = other_names.find(name); known != other_names.end())
                add(name, known->second, tensor);
            else
                convert_block(name, tensor);
        }
        return std::move(out_);
    }

   private:
    // "blk.3.attn_q.weight" → layer "3", part "attn_q", kind ".weight"
    void convert_block(const std::string& name, const Tensor& tensor) {
        const std::string prefix = "blk.";
        const std::size_t layer_end = name.find('.', prefix.size()), part_end = name.rfind('.');
        if (!name.starts_with(prefix) || layer_end == std::string::npos || part_end <= layer_end) refuse(name);
        const std::string layer = name.substr(prefix.size(), layer_end - prefix.size());
        const std::string part = name.substr(layer_end + 1, part_end - layer_end - 1), kind = name.substr(part_end);
        if (layer.empty() || layer.find_first_not_of("0123456789") != std::string::npos) refuse(name);
        const std::string hub_layer = text_of("model.layers.", layer, ".");
        if (const auto expert = expert_names.find(part); expert != expert_names.end()) {
            check(tensor.rank() == 3, gguf_.source, ": tensor '", name, "': expected (experts, out, in), found ",
                  tensor.shape());
            for (std::int64_t e = 0; e < tensor.size(0); ++e)
                add(name, text_of(hub_layer, "block_sparse_moe.experts.", e, ".", expert->second, kind),
                    ops::select(tensor, 0, e));
            return;
        }
        const auto known = block_names_.find(part);
        if (known == block_names_.end()) refuse(name);
        add(name, text_of(hub_layer, known->second, kind), restored(name, part, tensor));
    }

    Tensor restored(const std::string& name, const std::string& part, const Tensor& tensor) const {
        if (architecture_ != "llama" || (part != "attn_q" && part != "attn_k")) return tensor;
        const std::int64_t heads = part == "attn_q" ? heads_.heads : heads_.kv_heads;
        return rows_in_halves(tensor, heads, text_of(gguf_.source, ": tensor '", name, "'"));
    }

    void add(const std::string& name, const std::string& hub_name, Tensor tensor) {
        check(is_float(tensor.dtype()) || is_quantised(tensor.dtype()), gguf_.source, ": tensor '", name,
              "': ", tensor.dtype(), " is not a dtype of weights");
        // These norms multiply by 1 + weight, and the converter has added the 1 already.
        if (architecture_.starts_with("gemma") && name.ends_with("norm.weight")) {
            check(is_float(tensor.dtype()), gguf_.source, ": tensor '", name, "': a norm of ", tensor.dtype());
            tensor = ops::sub(tensor, Tensor::scalar(1, tensor.dtype()));
        }
        if (is_float(tensor.dtype())) tensor = tensor.to(dtype_);
        out_.emplace(hub_name, tensor);
    }

    [[noreturn]] void refuse(const std::string& name) const {
        fail(gguf_.source, ": tensor '", name, "': not known for the architecture '", architecture_, "'");
    }

    const Gguf& gguf_;
    std::string architecture_;
    Names block_names_;
    GgufHeads heads_;
    DType dtype_;
    formats::TensorMap out_;
};

// All types that are missing, in one line.
void check_readable(const Gguf& gguf) {
    std::map<std::string, std::size_t> counts;
    for (const auto& [name, tensor] : gguf.unreadable) ++counts[tensor.type];
    std::string types;
    for (const auto& [type, count] : counts)
        types += text_of(types.empty() ? "" : ", ", type, " (", count, count == 1 ? " tensor)" : " tensors)");
    check(counts.empty(), gguf.source, ": types of tensors that cannot be read: ", types,
          "; there are: ", formats::supported_gguf_types());
}

formats::Config config_of(const Gguf& gguf) {
    formats::Json config = gguf_config(gguf);
    config.set("dtype", hub_name(compute_dtype(gguf)));
    return {std::move(config), gguf.source};
}

}  // namespace

Checkpoint gguf_checkpoint(const Gguf& gguf) {
    check(gguf.integer("split.count", 1) <= 1, gguf.source, ": split.count: one of ", gguf.integer("split.count", 1),
          " pieces; put them together first");
    check_readable(gguf);
    Checkpoint checkpoint{.folder = gguf.source,
                          .config = config_of(gguf),
                          .generation_config = formats::Config(gguf_generation_config(gguf), gguf.source),
                          .tensors = {}};
    checkpoint.tensors = Converter(gguf).convert();
    return checkpoint;
}

Checkpoint open_gguf(const std::filesystem::path& file) { return gguf_checkpoint(formats::read_gguf(file)); }

formats::Config read_gguf_config(const std::filesystem::path& file) { return config_of(formats::read_gguf(file)); }

bool holds_tokenizer(const std::filesystem::path& gguf) { return formats::read_gguf(gguf).has("tokenizer.ggml.model"); }

}  // namespace tessera::models
