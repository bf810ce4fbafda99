// Finding an image's own text among others: counted by hand, and over the images of a file.
#include "tessera/evaluation/retrieval.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/objective_case.h"
#include "tessera/formats/image/image.h"
#include "tessera/tensor/tape.h"

namespace tessera::evaluation {
namespace {

using testing::expect_error;
using testing::ObjectiveCase;
using testing::TemporaryFolder;
using Numbers = std::vector<std::int64_t>;

TEST(Retrieval, RanksByHand) {
    // Three texts along the axes. The first image lies nearest to text 0, the second between, the third at text 1.
    const Tensor texts = Tensor::from(std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3});
    const Tensor images =
        Tensor::from(std::vector<float>{0.9F, 0.3F, 0.1F, 0.5F, 0.6F, 0.4F, 0.2F, 0.8F, 0.3F}, {3, 3});
    const Retrieval found = rank_texts(images, texts, {0, 2, 2});
    EXPECT_EQ(found.texts, 3);
    EXPECT_EQ(found.ahead, (Numbers{0, 2, 1}));
    EXPECT_DOUBLE_EQ(found.accuracy(1), 1);
    // Among two: the first always, the second never, the third where the other one is text 0.
    EXPECT_DOUBLE_EQ(found.accuracy(2), (1 + 0 + 0.5) / 3);
    EXPECT_DOUBLE_EQ(found.accuracy(3), 1.0 / 3);
    expect_error([&] { found.accuracy(4); }, {"4", "3"});
    expect_error([&] { found.accuracy(0); }, {"0"});
}

TEST(Retrieval, ATieIsNoAnswer) {
    const Tensor same = Tensor::from(std::vector<float>{1, 0, 1, 0}, {2, 2});
    EXPECT_EQ(rank_texts(same, same, {0, 1}).ahead, (Numbers{1, 1}));
    EXPECT_DOUBLE_EQ(rank_texts(same, same, {0, 1}).accuracy(2), 0);
}

// The closed form against every draw of candidates.
TEST(Retrieval, AccuracyIsTheMeanOverAllDraws) {
    const Retrieval found{.texts = 7, .ahead = {2}};
    std::int64_t draws = 0, right = 0;  // others 0 and 1 are ahead, 2 … 5 are not
    for (int a = 0; a < 6; ++a)
        for (int b = a + 1; b < 6; ++b)
            for (int c = b + 1; c < 6; ++c) {
                ++draws;
                right += a >= 2;
            }
    EXPECT_DOUBLE_EQ(found.accuracy(4), static_cast<double>(right) / static_cast<double>(draws));
}

TEST(Retrieval, ChoicesAmongFewManyAndAll) {
    const auto candidates = [](std::int64_t texts) {
        Numbers numbers;
        for (const Choice& choice : choices_of({.texts = texts, .ahead = {0}})) {
            EXPECT_DOUBLE_EQ(choice.chance, 1.0 / static_cast<double>(choice.candidates));
            EXPECT_DOUBLE_EQ(choice.accuracy, 1);
            numbers.push_back(choice.candidates);
        }
        return numbers;
    };
    EXPECT_EQ(candidates(3), (Numbers{3}));
    EXPECT_EQ(candidates(10), (Numbers{10}));
    EXPECT_EQ(candidates(100), (Numbers{10, 100}));
    EXPECT_EQ(candidates(1500), (Numbers{10, 100, 1500}));
}

formats::Image plain_image(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
    formats::Image image(8, 8);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = i % 3 == 0 ? red : i % 3 == 1 ? green : blue;
    return image;
}

TEST(Retrieval, ATextThatTwoImagesShareIsOneCandidate) {
    const TemporaryFolder folder;
    formats::write_png(folder / "a.png", plain_image(255, 0, 0));
    formats::write_png(folder / "b.png", plain_image(0, 0, 255));
    folder.write("lines.jsonl",
                 "{\"image\": \"a.png\", \"text\": \"red\"}\n{\"image\": \"b.png\", \"text\": \"blue\"}\n"
                 "{\"image\": \"b.png\", \"text\": \"red\"}\n");
    const std::string towers = R"({"model": {"model_type": "siglip",
        "text_config": {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 10,
            "vocab_size": 60, "max_position_embeddings": 6},
        "vision_config": {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 10,
            "image_size": 8, "patch_size": 4}}, "tokenizer": "characters", "objective": "contrastive", "batch": 2})";
    const ObjectiveCase test(folder, towers, "lines.jsonl");
    const Retrieval found = retrieve(test.model(), *test.make(), test.recipe());
    EXPECT_EQ(found.texts, 2);
    ASSERT_EQ(found.ahead.size(), 3u);
    // Two equal images with different texts: one of them is found, the other is not.
    EXPECT_EQ(found.ahead[1] + found.ahead[2], 1);
    EXPECT_EQ(retrieve(test.model(), *test.make(), test.recipe(), {.most_examples = test.recipe().batch}).ahead.size(),
              2u);
}

}  // namespace
}  // namespace tessera::evaluation
