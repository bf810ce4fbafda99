// A model's folder: hidden states, scores, loss, the gradient of every tensor of the checkpoint, and greedy tokens with
// and without the cache.
#include "tessera/parity/model.h"

#include <map>
#include <set>

#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::parity {
namespace {

using models::Batch;
using models::Model;

// Inputs "train_input_ids" and so on come before the plain ones when `prefix` is "train_".
Batch batch_of(const Case& run, const std::string& prefix) {
    const auto input = [&](const std::string& name) {
        return run.input_or_none(run.has(prefix + name) ? prefix + name : name,
                                 name == "pixel_values" ? Values::Floats : Values::Integers);
    };
    Batch batch{.input_ids = input("input_ids"),
                .attention_mask = input("attention_mask"),
                .token_type_ids = input("token_type_ids"),
                .global_attention_mask = input("global_attention_mask"),
                .pixel_values = input("pixel_values"),
                .decoder_input_ids = input("decoder_input_ids"),
                .decoder_attention_mask = input("decoder_attention_mask"),
                .labels = input("labels")};
    if (!prefix.empty() && !run.has(prefix + "attention_mask")) batch.attention_mask = {};
    return batch;
}

// Everything in expected.safetensors that is neither an input nor handled on its own.
bool is_forward_result(const std::string& name) {
    static const std::set<std::string> others{"input_ids",
                                              "attention_mask",
                                              "token_type_ids",
                                              "pixel_values",
                                              "global_attention_mask",
                                              "decoder_input_ids",
                                              "labels",
                                              "decoder_attention_mask",
                                              "greedy_prompt",
                                              "greedy_tokens",
                                              "loss"};
    return !others.contains(name) && !name.starts_with("grad.") && !name.starts_with("train_") &&
           !name.starts_with("param.");
}

void check_forward(const Case& run, const Model& model) {
    const NoGrad no_grad;
    std::map<std::string, Tensor> seen;
    const Tensor scores = model.forward(batch_of(run, ""), {}, [&](const std::string& name, const Tensor& value) {
        if (run.has(name)) seen[name] = value;
    });
    seen.emplace("logits", scores);
    for (const auto& [name, tensor] : run.expected.tensors)
        if (is_forward_result(name)) run.compare(name, seen[name], forward_tolerance);
    if (run.has("train_logits")) run.compare("train_logits", model.forward(batch_of(run, "train_")), forward_tolerance);
}

void check_gradients(const Case& run, Model& model) {
    const std::string prefix = run.has("train_labels") ? "train_" : "";
    bool wanted = false;
    for (const auto& [name, tensor] : run.expected.tensors) wanted = wanted || name.starts_with("grad.");
    if (!wanted) {
        const NoGrad no_grad;
        if (run.has("loss")) run.compare("loss", model.loss(batch_of(run, prefix)), forward_tolerance);
        return;
    }
    nn::set_requires_grad(model, true);
    const Tensor loss = model.loss(batch_of(run, prefix));
    run.compare("loss", loss, forward_tolerance);
    backward(loss);
    std::map<std::string, Tensor> gradients;
    for (auto& [name, gradient] : models::checkpoint_tensors(model, model.weights, [](const Tensor& parameter) {
             return parameter.requires_grad() ? parameter.grad() : Tensor();  // fixed ones have none
         }))
        gradients["grad." + name] = gradient;
    // A gradient that is zero in exact arithmetic (of a key's bias, which softmax cancels) is the rounding of sums of
    // the others' size: with this floor, what passes is one f32 epsilon of the largest.
    constexpr double rounding = 1.2e-7 / gradient_tolerance;
    double largest = 0;
    for (const auto& [name, tensor] : run.expected.tensors)
        if (name.starts_with("grad.")) largest = std::max(largest, norm_of(tensor));
    for (const auto& [name, tensor] : run.expected.tensors)
        if (name.starts_with("grad."))
            run.compare(name, gradients["grad." + models::canonical_name(model.weights, name.substr(5))],
                        gradient_tolerance, rounding * largest);
    nn::set_requires_grad(model, false);
}

Tensor first_row(const Tensor& x) { return x.defined() ? ops::slice(x, 0, 0, 1) : x; }

// What greedy_tokens continue: greedy_prompt, or for an encoder–decoder the first input from its start token, or all
// inputs.
Batch greedy_prompt(const Case& run, const Model& model) {
    if (run.has("greedy_prompt")) return {.input_ids = run.input("greedy_prompt", Values::Integers, {any, any})};
    Batch batch = batch_of(run, "");
    batch.labels = {};
    if (!batch.decoder_input_ids.defined()) return batch;
    constexpr std::int64_t most_ids = std::int64_t{1} << 31;
    const bool is_told = run.expected.metadata.contains("decoder_start");
    const std::int64_t first = is_told ? run.whole("decoder_start", most_ids) : model.decoder_start_token;
    batch.input_ids = first_row(batch.input_ids);
    batch.attention_mask = first_row(batch.attention_mask);
    batch.decoder_input_ids = Tensor::from<std::int64_t>({first}, {1, 1}).to(run.device);
    return batch;
}

std::vector<std::int64_t> greedy_without_cache(const Model& model, Batch batch, std::int64_t count) {
    const NoGrad no_grad;
    Tensor& growing = batch.decoder_input_ids.defined() ? batch.decoder_input_ids : batch.input_ids;
    std::vector<std::int64_t> chosen;
    // A prompt with an image sees all of itself; the tokens after it must not be taken for more of the prompt.
    const bool has_prefix = batch.pixel_values.defined();
    if (has_prefix && !batch.token_type_ids.defined())
        batch.token_type_ids = Tensor::zeros(growing.shape(), DType::I64, growing.device());
    while (static_cast<std::int64_t>(chosen.size()) < count) {
        const Tensor scores = model.forward(batch);
        const Tensor next = ops::reshape(ops::argmax(ops::select(scores, 1, scores.size(1) - 1)), {1, 1});
        chosen.push_back(next.to_vector<std::int64_t>()[0]);
        growing = ops::concat({growing, next}, 1);
        if (has_prefix)
            batch.token_type_ids =
                ops::concat({batch.token_type_ids, Tensor::full({1, 1}, 1, DType::I64, next.device())}, 1);
    }
    return chosen;
}

void check_greedy(const Case& run, const Model& model) {
    if (!run.has("greedy_tokens")) return;
    // One by one without a cache, each takes the whole text: that many are enough to show a difference.
    constexpr std::int64_t most_tokens = 1024;
    const std::vector<std::int64_t> expected =
        run.tensor("greedy_tokens", Values::Integers, {1, any}).to_vector<std::int64_t>();
    const auto count = static_cast<std::int64_t>(expected.size());
    check(count >= 1 && count <= most_tokens, run.source(), ": tensor 'greedy_tokens': expected 1 to ", most_tokens,
          " tokens, found ", count);
    const Batch prompt = greedy_prompt(run, model);
    const auto compare = [&](const char* name, const std::vector<std::int64_t>& tokens) {
        Quantity quantity{.name = name};
        for (std::size_t i = 0; i < expected.size(); ++i)
            quantity.error += i >= tokens.size() || tokens[i] != expected[i];
        quantity.note = text_of(count, " tokens");
        run.quantities.push_back(quantity);
    };
    compare(
        "greedy_tokens",
        inference::generate(model, prompt, {.max_new_tokens = count, .context = {.end = inference::AtContext::GoOn}})
            .tokens[0]);
    // With dynamic NTK scaling the reference keeps the cached keys as they were rotated, so that without a cache it
    // chooses other tokens itself.
    if (!model.rotates_by_length) compare("greedy_tokens without cache", greedy_without_cache(model, prompt, count));
}

}  // namespace

void check_model(const Case& run, Model& model) {
    if (run.device != cpu) nn::move_to(model, run.device);
    check_forward(run, model);
    check_gradients(run, model);
    check_greedy(run, model);
}

void check_model(const Case& run) { check_model(run, *models::load(run.folder)); }

}  // namespace tessera::parity
