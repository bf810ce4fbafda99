// A parity case with any of its tensors there, missing or of other shapes and dtypes has an outcome.
#include <cstdlib>

#include "made_tensors.h"
#include "scratch_folder.h"
#include "tessera/parity/parity.h"

using namespace tessera;

namespace {

const std::vector<const char*> names[] = {
    {"adamw.w10", "adamw.b10", "sgd.w10", "sgd.b10", "w0", "b0", "grad_w", "grad_b", "adafactor.w10"},
    {"additive.output", "x", "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0", "rnn.output",
     "gru.weight_ih_l0", "gru.weight_hh_l0", "gru.bias_ih_l0", "gru.bias_hh_l0", "gru.output"},
    {"additive.output", "additive.q", "additive.k", "additive.v", "additive.w_v", "additive.W_q", "additive.W_k",
     "additive.lengths", "additive.weights"},
    {"param.embed", "param.l0.w_up", "param.l0.w_down", "param.l0.q", "input_ids", "logits", "loss", "greedy_tokens"},
    {"bicubic_224", "bicubic_32", "bilinear_224", "bilinear_32", "rgb", "some_224"},
    {"losses", "grad_norms", "lrs", "data", "final.x"},
    {"input_ids", "logits", "loss", "greedy_prompt", "greedy_tokens", "grad.x", "pixel_values"}};

constexpr const char* settings[] = {"betas",        "momentum", "weight_decay", "eps",      "lr",
                                    "layers",       "heads",    "clip",         "kv_heads", "head_dim",
                                    "warmup_steps", "then",     "decoder_start"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const ScratchFolder folder;
    static const std::filesystem::path file = folder.write("expected.safetensors", nullptr, 0);
    TakenBytes in(bytes, size);
    formats::NamedTensors tensors;
    const std::vector<const char*>& kind = in.one_of(names);
    for (const char* name : kind)
        if (in.byte() % 8 != 7) tensors.emplace_back(name, made_tensor(in));
    formats::Metadata metadata;
    constexpr const char* values[] = {
        "0.9,0.95", "1", "2", "4", "0", "-1", "1e300", "nan", "", "x", "99999999999999999999"};
    for (const char* name : settings)
        if (in.byte() % 16 != 15) metadata.emplace(name, in.one_of(values));
    try {
        formats::write_safetensors(file, tensors, metadata);
    } catch (const Error&) {
        return 0;
    }
    const parity::Outcome outcome = parity::check_case(file.parent_path(), cpu);
    if (outcome.failure.empty() && outcome.quantities.empty()) std::abort();
    return 0;
}
