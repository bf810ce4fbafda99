// tessera classify from outside.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "formats/json.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_refusal;
using testing::expect_success;
using testing::golden_path;

const std::string png = golden_path("image-preprocess/picture.png"), jpeg = golden_path("image-preprocess/picture.jpg");

TEST(Classify, NamesTheClassesOfEachPicture) {
    const std::string text = expect_success({"classify", golden_path("vit"), "--image", png, "--image", jpeg}).out;
    EXPECT_NE(text.find("picture.png\n"), text.npos);
    EXPECT_NE(text.find("picture.jpg\n"), text.npos);
    EXPECT_NE(text.find("LABEL_1"), text.npos);
    EXPECT_EQ(expect_success({"classify", golden_path("vit"), png, jpeg}).out, text);
    EXPECT_EQ(expect_success({"classify", golden_path("vit"), "--image", png, jpeg}).out, text);
    const testing::Answer run =
        expect_success({"classify", golden_path("vit"), "--image", png, "--image", jpeg, "--json", "--top", "0"});
    const Json answers = Json::parse(run.out, "standard output");
    ASSERT_EQ(answers.items().size(), 2u);
    for (const Json& answer : answers.items()) {
        double sum = 0;
        ASSERT_EQ(answer.find("labels")->items().size(), 10u);
        for (const Json& label : answer.find("labels")->items()) sum += label.find("probability")->as_number();
        EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(answers.items()[0].find("image")->as_string(), png);
    EXPECT_EQ(Json::parse(expect_success({"classify", golden_path("vit"), "--image", png, "--json", "--top", "3"}).out,
                          "standard output")
                  .items()[0]
                  .find("labels")
                  ->items()
                  .size(),
              3u);
}

TEST(Classify, RefusesInOneLine) {
    const testing::TemporaryFolder folder;
    const std::string vit = golden_path("vit");
    expect_refusal(2, {"classify", vit}, {"--image"});
    expect_refusal(2, {"classify"}, {"tessera classify --help"});
    expect_refusal(1, {"classify", vit, "--image", folder / "none.png"}, {"none.png"});
    expect_refusal(1, {"classify", vit, "--image", folder.path()}, {folder.path()});
    expect_refusal(1, {"classify", vit, "--image", folder.write("a.png", "text")}, {"a.png", "not a picture"});
    expect_refusal(1, {"classify", vit, "--image", png, "--top", "-1"}, {"--top", "-1"});
    expect_refusal(1, {"classify", vit, "--image", png, "--labels", "a,,b"}, {"--labels", "a,,b"});
    expect_refusal(1, {"classify", vit, "--image", png, "--labels", "a"}, {"labels"});
    expect_refusal(1, {"classify", golden_path("siglip"), "--image", png}, {"labels"});
    expect_refusal(1, {"classify", golden_path("llama"), "--image", png}, {"pictures"});
}

}  // namespace
}  // namespace tessera
