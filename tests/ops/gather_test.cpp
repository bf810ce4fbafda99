#include "tessera/ops/gather.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/core/parallel.h"
#include "tessera/core/random.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;

Tensor ids_of(std::initializer_list<std::int64_t> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST(Embedding, AnIdOutsideTheVocabularyIsNamed) {
    const Tensor table = Tensor::zeros({10, 4});
    expect_error([&] { ops::embedding(table, ids_of({1, 10})); }, {"embedding", "id 10", "vocabulary of 10"});
    expect_error([&] { ops::embedding(table, ids_of({-1})); }, {"embedding", "id -1", "vocabulary of 10"});
    expect_error([&] { ops::embedding(table, Tensor::zeros({2})); }, {"embedding", "f32"});
    expect_error([&] { ops::embedding(Tensor::zeros({3}), ids_of({1})); }, {"embedding", "(3)"});
}

TEST(Embedding, TakesI32AndEmptyIds) {
    const Tensor table = testing::random_tensor({10, 4}, 1);
    const Tensor ids = ids_of({3, 9, 3});
    EXPECT_TRUE(testing::same_bits(ops::embedding(table, ids), ops::embedding(table, ids.to(DType::I32))));
    EXPECT_EQ(ops::embedding(table, Tensor::empty({2, 0}, DType::I64)).shape(), (Shape{2, 0, 4}));
}

TEST(Embedding, ReadsQuantisedTables) {
    const Tensor dense = testing::random_tensor({6, 64}, 2, -1, 1, DType::F32);
    const Tensor table = Tensor::empty({6, 64}, DType::Q8_0), decoded = Tensor::empty({6, 64});
    info(DType::Q8_0).codec->encode(dense.data<float>(), table.view().data, 6 * 2);
    info(DType::Q8_0).codec->decode(table.view().data, decoded.data<float>(), 6 * 2);
    const Tensor ids = ids_of({5, 0, 2});
    const Tensor rows = ops::embedding(table, ids);
    EXPECT_TRUE(testing::same_bits(rows, ops::embedding(decoded, ids)));
    EXPECT_LE(testing::relative_error(rows, ops::embedding(dense, ids)), 0.01);
}

TEST(Embedding, ManySmallBf16GradientsAddUp) {
    // 1 + 2^-9 + 2^-9 + …: each term alone would be lost against 1 in bf16.
    Tensor table = Tensor::zeros({2, 3}, DType::BF16);
    table.set_requires_grad();
    const Tensor gradient = Tensor::full({513, 3}, 0x1p-9, DType::BF16);
    ops::slice(gradient, 0, 0, 1).fill(1);
    backward({ops::embedding(table, Tensor::zeros({513}, DType::I64))}, {gradient});
    EXPECT_EQ(table.grad().to_vector<float>(), (std::vector<float>{2, 2, 2, 0, 0, 0}));
}

TEST(Embedding, BackwardHasTheSameBitsAtAnyThreadCount) {
    const std::int64_t tokens = 5000;
    const Tensor ids = Tensor::empty({tokens}, DType::I64);
    for (std::int64_t i = 0; i < tokens; ++i)
        ids.data<std::int64_t>()[i] = random_bits({.seed = 3}, static_cast<std::uint64_t>(i)) % 40;
    const Tensor gradient = testing::random_tensor({tokens, 130}, 4, -1, 1, DType::F32);
    const auto run = [&](int threads) {
        set_thread_count(threads);
        Tensor table = Tensor::zeros({100, 130});
        table.set_requires_grad();
        backward({ops::embedding(table, ids)}, {gradient});
        return table.grad();
    };
    const int threads = thread_count();
    const Tensor one = run(1), two = run(2), three = run(3);
    set_thread_count(threads);
    EXPECT_TRUE(testing::same_bits(one, two));
    EXPECT_TRUE(testing::same_bits(one, three));
}

TEST(Gather, BadInputsAreNamed) {
    const Tensor x = Tensor::zeros({2, 3});
    expect_error([&] { ops::gather(x, 1, Tensor::full({2, 1}, 3, DType::I64)); }, {"gather", "index 3", "size 3"});
    expect_error([&] { ops::gather(x, 1, Tensor::full({2, 1}, -1, DType::I64)); }, {"gather", "index -1"});
    expect_error([&] { ops::gather(x, 1, Tensor::zeros({3, 1}, DType::I64)); }, {"gather", "(3, 1)", "(2, 3)"});
    expect_error([&] { ops::gather(x, 1, Tensor::zeros({2}, DType::I64)); }, {"gather", "(2)", "(2, 3)"});
    expect_error([&] { ops::gather(x, 1, Tensor::zeros({2, 1})); }, {"gather", "f32"});
    const Tensor index = Tensor::zeros({2, 2}, DType::I64);
    expect_error([&] { ops::scatter_add(x, 1, index, Tensor::zeros({2, 1})); }, {"scatter_add", "(2, 2)", "(2, 1)"});
    expect_error([&] { ops::scatter_add(x, 1, index, Tensor::zeros({2, 2}, DType::F64)); }, {"scatter_add", "f64"});
}

TEST(ScatterAdd, LeavesItsInputAlone) {
    const Tensor x = Tensor::zeros({3});
    const Tensor out = ops::scatter_add(x, 0, ids_of({1, 1, 2}), Tensor::full({3}, 2));
    EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{0, 4, 2}));
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3, 0));
}

}  // namespace
}  // namespace tessera
