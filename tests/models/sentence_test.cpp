#include "tessera/models/sentence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::expect_error;
using testing::random_tensor;

// Row by row, token by token.
std::vector<double> plainly(const Tensor& hidden, const std::vector<std::int64_t>& mask, const Pooling& pooling) {
    const std::int64_t rows = hidden.size(0), time = hidden.size(1), width = hidden.size(2);
    const std::vector<double> x = hidden.to_vector<double>();
    std::vector<double> out;
    for (std::int64_t b = 0; b < rows; ++b) {
        std::vector<double> row;
        for (std::int64_t w = 0; w < width; ++w) {
            double sum = 0, largest = -INFINITY, first = 0, count = 0;
            for (std::int64_t t = 0; t < time; ++t) {
                if (mask[static_cast<std::size_t>(b * time + t)] == 0) continue;
                const double value = x[static_cast<std::size_t>((b * time + t) * width + w)];
                if (t == 0) first = value;
                sum += value;
                largest = std::max(largest, value);
                ++count;
            }
            const double mean = count > 0 ? sum / count : 0;
            row.push_back(pooling.mode == PoolingMode::Mean    ? mean
                          : pooling.mode == PoolingMode::First ? first
                          : count > 0                          ? largest
                                                               : 0);
        }
        double squares = 0;
        for (const double value : row) squares += value * value;
        for (const double value : row)
            out.push_back(pooling.normalise && squares > 0 ? value / std::sqrt(squares) : value);
    }
    return out;
}

TEST(SentenceEmbedding, IsThePlainDefinition) {
    const Tensor hidden = random_tensor({3, 5, 7}, 1);
    const std::vector<std::int64_t> mask{1, 1, 1, 1, 1, /**/ 1, 1, 0, 0, 0, /**/ 0, 0, 0, 0, 0};
    for (const PoolingMode mode : {PoolingMode::Mean, PoolingMode::First, PoolingMode::Max})
        for (const bool normalise : {false, true}) {
            const Pooling pooling{mode, normalise};
            const auto got = sentence_embedding(hidden, Tensor::from(mask, {3, 5}), pooling).to_vector<double>();
            const std::vector<double> expected = plainly(hidden, mask, pooling);
            ASSERT_EQ(got.size(), expected.size());
            for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-8) << i;
            const std::vector<std::int64_t> all(15, 1);
            const auto unmasked = sentence_embedding(hidden, {}, pooling).to_vector<double>();
            const std::vector<double> whole = plainly(hidden, all, pooling);
            for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(unmasked[i], whole[i], 1e-8) << i;
        }
}

TEST(SentenceEmbedding, LearnsAlsoBesideARowWithoutTokens) {
    Tensor hidden = random_tensor({2, 3, 4}, 2);
    hidden.set_requires_grad();
    const Tensor mask = Tensor::from<std::int64_t>({1, 1, 0, 0, 0, 0}, {2, 3});
    for (const PoolingMode mode : {PoolingMode::Mean, PoolingMode::First, PoolingMode::Max}) {
        hidden.set_grad({});
        const Tensor x = sentence_embedding(hidden, mask, {.mode = mode});
        backward({x}, {random_tensor(x.shape(), 3)});
        double largest = 0;
        for (const double value : hidden.grad().to_vector<double>()) {
            EXPECT_TRUE(std::isfinite(value));
            largest = std::max(largest, std::fabs(value));
        }
        EXPECT_GT(largest, 0);
    }
}

TEST(SentenceEmbedding, RefusesShapesThatDoNotFit) {
    const Tensor hidden = random_tensor({2, 3, 4}, 2);
    expect_error([&] { sentence_embedding(hidden, Tensor::zeros({2, 4}, DType::I64)); }, {"attention_mask", "(2, 3)"});
    expect_error([&] { sentence_embedding(random_tensor({2, 3}, 1), {}); }, {"(B, T, W)", "(2, 3)"});
}

class PoolingFolder : public ::testing::Test {
   protected:
    void SetUp() override {
        folder = std::filesystem::path(::testing::TempDir()) /
                 text_of("pooling_", ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder / "1_Pooling");
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    void write(const std::string& file, const std::string& text) const { std::ofstream(folder / file) << text; }

    std::filesystem::path folder;
    const std::string transformer =
        R"({"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"})";
    const std::string pool =
        R"({"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
    const std::string norm =
        R"({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";
};

TEST_F(PoolingFolder, WithoutFilesIsTheNormalisedMean) {
    const Pooling pooling = read_pooling(folder);
    EXPECT_EQ(pooling.mode, PoolingMode::Mean);
    EXPECT_TRUE(pooling.normalise);
}

TEST_F(PoolingFolder, FollowsItsFiles) {
    write("modules.json", "[" + transformer + "," + pool + "]");
    write("1_Pooling/config.json",
          R"({"word_embedding_dimension": 4, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
    EXPECT_EQ(read_pooling(folder).mode, PoolingMode::First);
    EXPECT_FALSE(read_pooling(folder).normalise);
    write("modules.json", "[" + transformer + "," + pool + "," + norm + "]");
    write("1_Pooling/config.json", R"({"pooling_mode_cls_token": false, "pooling_mode_max_tokens": true})");
    EXPECT_EQ(read_pooling(folder).mode, PoolingMode::Max);
    EXPECT_TRUE(read_pooling(folder).normalise);
    write("1_Pooling/config.json", R"({"pooling_mode": "cls"})");
    EXPECT_EQ(read_pooling(folder).mode, PoolingMode::First);
}

TEST_F(PoolingFolder, RefusesWhatItDoesNotKnow) {
    const auto refused = [&](std::initializer_list<std::string> parts) {
        expect_error([&] { read_pooling(folder); }, parts);
    };
    write("1_Pooling/config.json", R"({"pooling_mode_lasttoken": true})");
    refused({"1_Pooling/config.json", "pooling_mode_lasttoken"});
    write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
    refused({"pooling_mode_mean_tokens", "one pooling"});
    write("1_Pooling/config.json", R"({"pooling_mode": "median"})");
    refused({"pooling_mode", "median"});
    write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": 3})");
    refused({"pooling_mode_mean_tokens"});
    write("modules.json", R"([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])");
    refused({"modules.json", "0.type", "Dense"});
    write("modules.json", R"([{"type": "sentence_transformers.models.Pooling", "path": "../elsewhere"}])");
    refused({"0.path", "../elsewhere"});
    write("modules.json", R"({"type": 1})");
    refused({"modules.json", "list"});
    write("modules.json", R"([7])");
    refused({"modules.json", "module 0"});
}

}  // namespace
}  // namespace tessera::models
