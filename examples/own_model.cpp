// A model of one's own and its training, of tensors, modules and an optimizer: a transformer that learns to sort.
#include <tessera/tessera.h>

#include <algorithm>
#include <iostream>
#include <random>

using namespace tessera;

constexpr std::int64_t length = 6, symbols = 10, width = 32;

// Reads 6 digits and predicts, at each place, the digit that stands there when they are sorted.
struct Sorter : nn::Module {
    nn::Embedding digits{symbols, width}, places{length, width};
    nn::DotProductAttention attention{{.width = width, .heads = 4}};
    nn::LayerNorm attention_norm{width}, feed_forward_norm{width};
    nn::FeedForward feed_forward{{.width = width, .hidden = 4 * width}};
    nn::Linear head{width, symbols};

    Tensor forward(const Tensor& ids) const {  // (B, T) → logits (B, T, symbols)
        Tensor x = digits.forward(ids) + places.forward(Tensor::arange(length));
        x = x + attention.forward(attention_norm.forward(x), {});
        x = x + feed_forward.forward(feed_forward_norm.forward(x));
        return head.forward(x);
    }
    void visit(const nn::Visitor& visitor) override {
        visitor("digits", digits);
        visitor("places", places);
        visitor("attention", attention);
        visitor("attention_norm", attention_norm);
        visitor("feed_forward", feed_forward);
        visitor("feed_forward_norm", feed_forward_norm);
        visitor("head", head);
    }
};

struct Examples {
    Tensor ids, sorted;
};

static Examples examples(std::int64_t count, std::mt19937& random) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(count * length));
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % symbols);
    std::vector<std::int64_t> sorted = ids;
    for (auto row = sorted.begin(); row != sorted.end(); row += length) std::sort(row, row + length);
    return {Tensor::from(ids, {count, length}), Tensor::from(sorted, {count, length})};
}

int main() {
    Sorter model;
    nn::initialise(model, {.seed = 1}, {.usual = 0.1});
    nn::set_requires_grad(model, true);
    training::ParameterBuffer parameters(model);
    training::AdamW optimizer(parameters);
    std::mt19937 random(1);
    for (int step = 1; step <= 600; ++step) {
        const auto [ids, sorted] = examples(64, random);
        const Tensor loss = ops::cross_entropy(model.forward(ids), sorted);
        parameters.zero_gradients();
        backward(loss);
        parameters.clip_gradients(1);
        optimizer.step(3e-3);
        if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss.item() << std::endl;
    }

    const NoGrad no_grad;
    const auto [ids, sorted] = examples(256, random);
    const auto found = ops::argmax(model.forward(ids)).to_vector<std::int64_t>(),
               wanted = sorted.to_vector<std::int64_t>();
    double right = 0;
    for (std::size_t i = 0; i < found.size(); ++i) right += found[i] == wanted[i];
    std::cout << "accuracy " << right / static_cast<double>(found.size()) << "\n";
}
