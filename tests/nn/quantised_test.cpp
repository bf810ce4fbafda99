// Modules over quantised weights: the same modules, with another dtype.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/quantised.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/experts.h"
#include "tessera/nn/lora.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;

TEST(Quantised, EmbeddingLooksUpAndScoresWithOneTable) {
    for (const DType dtype : quantised_dtypes) {
        Embedding table(7, 256), plain(7, 256);
        table.weight = random_quantised({7, 256}, 1, dtype);
        plain.weight = decoded(table.weight);
        const Tensor ids = Tensor::from({std::int64_t{3}, std::int64_t{6}}, {1, 2});
        const Tensor rows = table.forward(ids);
        EXPECT_TRUE(same_bits(rows, plain.forward(ids)));
        EXPECT_LE(relative_error(table.logits(rows), plain.logits(rows)), 1e-6) << name(dtype);
    }
}

TEST(Quantised, AdaptersLearnOverAFrozenBase) {
    Linear linear(64, 32, false), plain(64, 32, false);
    linear.weight = random_quantised({32, 64}, 2, DType::Q4_0);
    plain.weight = decoded(linear.weight);
    const Tensor x = random_tensor({3, 64}, 3, -1, 1, DType::F32);
    const auto learn = [&](Linear& layer) {
        layer.adapter = std::make_unique<Lora>(layer, LoraSettings{.rank = 4, .alpha = 8}, RandomKey{.seed = 9});
        auto& lora = dynamic_cast<Lora&>(*layer.adapter);
        lora.up.copy_from(random_tensor({32, 4}, 4, -1, 1, DType::F32));
        Tensor input = x.clone();
        input.set_requires_grad();
        backward({layer.forward(input)}, {Tensor::full({3, 32}, 1)});
        return std::vector<Tensor>{lora.down.grad(), lora.up.grad(), input.grad()};
    };
    const auto gradients = learn(linear), expected = learn(plain);
    for (std::size_t i = 0; i < gradients.size(); ++i) EXPECT_LE(relative_error(gradients[i], expected[i]), 1e-6);
    expect_error([&] { set_requires_grad(linear, true); }, {"q4_0", "cannot have a gradient"});
}

TEST(Quantised, ExpertsRunOverQuantisedMatrices) {
    const ExpertsSettings settings{.width = 32, .hidden = 64, .experts = 4, .routing = {.k = 2}};
    Experts experts(settings), plain(settings);
    for (const auto& [quantised, dense] :
         {std::pair(&experts.gate, &plain.gate), {&experts.up, &plain.up}, {&experts.down, &plain.down}}) {
        *quantised = random_quantised(quantised->shape(), 6, DType::Q8_0);
        *dense = decoded(*quantised);
    }
    experts.router.weight = plain.router.weight = random_tensor({4, 32}, 7, -1, 1, DType::F32);
    const Tensor x = random_tensor({2, 5, 32}, 8, -1, 1, DType::F32);
    EXPECT_LE(relative_error(experts.forward(x), plain.forward(x)), 1e-6);
}

}  // namespace
}  // namespace tessera::nn
