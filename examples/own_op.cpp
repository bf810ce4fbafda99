// An op of one's own with its gradient, and an architecture that uses it: a decoder whose feed-forward networks have
// the squared ReLU of Primer (So et al. 2021). It is trained a little, saved, and opened again by its model_type:
// own_op DIR
#include <tessera/tessera.h>

#include <algorithm>
#include <iostream>

using namespace tessera;

// The contract, one line per kernel: what every device must compute.
using Forward = void(const View& x, const View& y);
using Gradient = void(const View& x, const View& dy, const View& dx);
static Slot<Forward> squared_relu_slot{"squared_relu"};                     // y = max(x, 0)²
static Slot<Gradient> squared_relu_backward_slot{"squared_relu_backward"};  // dx = 2 · max(x, 0) · dy

// The CPU's kernels, for contiguous f32.
static void squared_relu_on_cpu(const View& x, const View& y) {
    parallel_for(x.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const float positive = std::max(x.as<float>()[i], 0.0f);
            y.as<float>()[i] = positive * positive;
        }
    });
}
static void squared_relu_backward_on_cpu(const View& x, const View& dy, const View& dx) {
    parallel_for(x.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            dx.as<float>()[i] = 2 * std::max(x.as<float>()[i], 0.0f) * dy.as<float>()[i];
    });
}
static const RegisterKernel register_forward{squared_relu_slot, DeviceKind::CPU, squared_relu_on_cpu};
static const RegisterKernel register_backward{squared_relu_backward_slot, DeviceKind::CPU,
                                              squared_relu_backward_on_cpu};

// The op: checks, forward, and how its gradient is had.
static Tensor squared_relu(const Tensor& input) {
    check(input.dtype() == DType::F32, "squared_relu: needs f32, not ", input.dtype());
    const Tensor x = input.contiguous(), y = x.empty_like();
    squared_relu_slot.on(x.device())(x.view(), y.view());
    return record("squared_relu", y, {input}, [x = x.detach()](const Tensor& gradient) -> Gradients {
        const Tensor dy = gradient.contiguous(), dx = x.empty_like();
        squared_relu_backward_slot.on(x.device())(x.view(), dy.view(), dx.view());
        return {dx};
    });
}

// A part of a model that uses it.
struct SquaredReluNetwork : nn::PositionWise {
    nn::Linear up, down;

    SquaredReluNetwork(std::int64_t width, std::int64_t hidden) : up(width, hidden), down(hidden, width) {}
    Tensor forward(const Tensor& x, const nn::Context& context) const override {
        return down.forward(squared_relu(up.forward(x, context)), context);
    }
    void visit(const nn::Visitor& visitor) override {
        visitor("up", up);
        visitor("down", down);
    }
};

// The architecture: from the fields of a config.json to a model, and the names of its weights in a checkpoint.
static std::unique_ptr<models::Model> primer(const models::Config& config) {
    const models::Heads heads = models::read_heads(config, {.width = 64, .heads = 4});
    models::DecoderParts parts{.vocabulary = models::read_size(config, "vocab_size"),
                               .width = heads.width,
                               .context_length = models::read_size(config, "max_position_embeddings", 256)};
    for (std::int64_t layer = 0; layer < models::read_count(config, "num_hidden_layers", 2); ++layer) {
        nn::BlockParts block;
        block.attention_norm = std::make_unique<nn::LayerNorm>(heads.width);
        block.attention = std::make_unique<nn::DotProductAttention>(nn::DotProductSettings{
            .width = heads.width, .heads = heads.heads, .rope = models::read_rope(config, heads.head_width)});
        block.feed_forward_norm = std::make_unique<nn::LayerNorm>(heads.width);
        block.feed_forward = std::make_unique<SquaredReluNetwork>(heads.width, 4 * heads.width);
        parts.blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(block)));
    }
    parts.final_norm = std::make_unique<nn::LayerNorm>(heads.width);
    return std::make_unique<models::Decoder>(
        config, std::move(parts),
        models::WeightTable{.names = {{"tokens", "embed"},
                                      {"layers.*.attention_norm", "layers.*.attention_norm"},
                                      {"layers.*.attention", "layers.*.attention"},
                                      {"layers.*.feed_forward_norm", "layers.*.feed_forward_norm"},
                                      {"layers.*.feed_forward", "layers.*.feed_forward"},
                                      {"final_norm", "final_norm"},
                                      {"head", "head"}}});
}
static const models::RegisterArchitecture register_primer(
    {"primer", "So et al., Primer: Searching for Efficient Transformers for Language Modeling, 2021", primer});

static void train_and_open(const std::string& folder) {
    const auto config = formats::Json::object().set("model_type", "primer").set("vocab_size", 16);
    const std::unique_ptr<models::Model> model = models::initialised({config, "primer"}, 1);

    // 0 1 2 … 15 0 1 2 …, from each of the numbers on
    const Tensor ids = Tensor::empty({16, 24}, DType::I64);
    for (std::int64_t i = 0; i < ids.elements(); ++i) ids.data<std::int64_t>()[i] = (i / 24 + i % 24) % 16;
    nn::set_requires_grad(*model, true);
    training::ParameterBuffer parameters(*model);
    training::AdamW optimizer(parameters);
    double loss = 0;
    for (int step = 0; step < 60; ++step) {
        const Tensor mean = model->loss({.input_ids = ids, .labels = ids}, {}, {.training = true});
        parameters.zero_gradients();
        backward(mean);
        optimizer.step(3e-3);
        loss = mean.item();
    }
    std::cout << "loss " << loss << "\n";

    models::save(*model, folder);
    const models::OpenedModel opened = models::open_model(folder);
    const inference::GenerationResult generated =
        inference::Generator(opened).generate({.prompts = {{.ids = {3, 4, 5}}}, .usual_new_tokens = 8});
    for (const std::int64_t id : generated.texts[0].tokens) std::cout << id << " ";
    std::cout << "\n";
}

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: own_op DIR\n";
        return 2;
    }
    try {
        train_and_open(arguments[1]);
    } catch (const Error& error) {
        std::cerr << "own_op: " << error.what() << "\n";
        return 1;
    }
}
