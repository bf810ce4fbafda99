// What a run starts from, and what goes with the model into the folder that is left.
#include "tessera/training/run/initial_model.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/tokenizer_spec.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using testing::golden_path;

const std::string small_decoder = R"("model_type": "llama", "hidden_size": 8, "intermediate_size": 12,
    "num_hidden_layers": 1, "num_attention_heads": 2)";

class StartingFrom : public ::testing::Test {
   protected:
    models::OpenedModel start(const std::string& json, const std::optional<fs::path>& earlier = {}) const {
        const std::string data = text_of("data.train=", (folder_ / "text.txt").string());
        return initial_model(
            read_recipe(resolve_recipe(formats::Json::parse(json, "recipe.json"), {data}, "recipe.json")),
            {.earlier = earlier, .tokenizer_dir = folder_ / "cache"});
    }
    fs::path copied_golden(const std::string& name) const {
        fs::create_directories(folder_ / name);
        for (const char* file : {"config.json", "model.safetensors"})
            fs::copy_file(fs::path(golden_path(name)) / file, folder_ / name / file);
        return folder_ / name;
    }
    testing::TemporaryFolder folder_;
    fs::path text_ = folder_.write("text.txt", "a few words of text, a few more words of text");
};

TEST_F(StartingFrom, ACheckpointOfImagesNeedsNoTokenizer) {
    const fs::path vit = copied_golden("vit");
    folder_.write("vit/preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3]})");
    const models::OpenedModel model =
        start(text_of("{\"model\": \"", vit.string(), "\", \"objective\": \"classify\"}"));
    EXPECT_EQ(model.tokenizer, nullptr);
    model.save(folder_ / "out");
    const formats::Json written = formats::Json::read(folder_ / "out/preprocessor_config.json");
    EXPECT_EQ(written.find("image_mean")->items()[0].as_number(), 0.1);
}

// Those who read the folder elsewhere are told how its images are prepared.
TEST_F(StartingFrom, PicturesArePreparedAsTheFamilyDoesWhereNothingIsSaid) {
    const fs::path vit = copied_golden("vit");
    start(text_of("{\"model\": \"", vit.string(), "\", \"objective\": \"classify\"}")).save(folder_ / "out");
    const formats::Json written = formats::Json::read(folder_ / "out/preprocessor_config.json");
    EXPECT_EQ(written.find("image_processor_type")->as_string(), "ViTImageProcessor");
    start("{\"model\": {" + small_decoder + "}, \"tokenizer\": \"bytes\"}").save(folder_ / "text");
    EXPECT_FALSE(fs::exists(folder_ / "text/preprocessor_config.json"));
}

TEST_F(StartingFrom, HowAModelWantsToBeAskedGoesAlong) {
    const fs::path llama = copied_golden("llama");
    folder_.write("llama/generation_config.json", R"({"eos_token_id": [5, 7], "temperature": 0.25})");
    const std::string recipe = text_of("{\"model\": \"", llama.string(), "\"}");
    const models::OpenedModel model = start(recipe);
    EXPECT_EQ(model.settings.stop_ids, (std::vector<std::int64_t>{5, 7}));
    model.save(folder_ / "step");
    start(recipe, folder_ / "step").save(folder_ / "out");  // and over a checkpoint
    const formats::Json asked = formats::Json::read(folder_ / "out/generation_config.json");
    EXPECT_EQ(asked.find("eos_token_id")->items().size(), 2u);
    EXPECT_EQ(asked.find("temperature")->as_number(), 0.25);
}

// Embeddings mean nothing under another tokenizer.
TEST_F(StartingFrom, TheTokenizerOfTheWeightsGoesBeforeOneMadeFromTheData) {
    start("{\"model\": {" + small_decoder + "}, \"tokenizer\": \"words\"}").save(folder_ / "words");
    const std::int64_t words =
        start("{\"model\": {" + small_decoder + "}, \"tokenizer\": \"words\"}").tokenizer->size();
    for (const char* tokenizer : {"\"bytes\"", "\"\""}) {
        const std::string recipe = text_of("{\"model\": {", small_decoder, "}, \"tokenizer\": ", tokenizer,
                                           ", \"weights\": \"", (folder_ / "words").string(), "\"}");
        const models::OpenedModel model = start(recipe);
        ASSERT_NE(model.tokenizer, nullptr) << tokenizer;
        EXPECT_EQ(model.tokenizer->size(), words) << tokenizer;
        model.save(folder_ / "out");
        EXPECT_TRUE(fs::exists(folder_ / "out/tokenizer.json"));
        // A resumed run has it even where those weights are gone.
        fs::rename(folder_ / "words", folder_ / "elsewhere");
        EXPECT_EQ(start(recipe, folder_ / "out").tokenizer->size(), words) << tokenizer;
        fs::rename(folder_ / "elsewhere", folder_ / "words");
    }
}

// Classes that the checkpoint knows stay under its head; others need a new one.
TEST_F(StartingFrom, OtherClassesNeedANewHead) {
    const fs::path vit = copied_golden("vit");
    const Recipe recipe = read_recipe(resolve_recipe(formats::Json::object()
                                                         .set("model", vit.string())
                                                         .set("objective", "classify")
                                                         .set("data", formats::Json::object().set("train", "nowhere")),
                                                     {}, "recipe.json"));
    const auto head_for = [&](const std::vector<std::string>& classes) {
        std::vector<std::string> new_head;
        initial_model(recipe, {.tokenizer_dir = folder_ / "cache",
                               .classes = classes,
                               .on_new_head = [&](const std::vector<std::string>& names) { new_head = names; }});
        return new_head;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(head_for({"LABEL_3", "LABEL_4"}), Names());
    EXPECT_EQ(head_for({"0", "7"}), Names());                                          // numbers of ten classes
    EXPECT_EQ(head_for({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}), Names());  // which had no names
    EXPECT_EQ(head_for({"cat", "dog"}), (Names{"cat", "dog"}));
    EXPECT_EQ(head_for({"1", "12"}).size(), 13u);
    testing::expect_error([&] { head_for({"20231201"}); }, {"nowhere", "20231201"});
}

// A file of weights has its tokenizer inside, and that is the one: whatever else lies in its folder.
TEST_F(StartingFrom, TheTokenizerOfAFileBecomesFilesOfTheFolder) {
    testing::GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "gpt-2");
    builder.set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<e>"});
    builder.set_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 3});
    builder.set_array("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
    builder.set("tokenizer.ggml.eos_token_id", std::uint32_t{3});
    builder.write(folder_ / "model.gguf");
    make_tokenizer({.kind = TokenizerKind::Bytes}, folder_.path());  // of another model
    fs::create_directories(folder_ / "out");
    const fs::path place = models::tokenizer_place(models::model_place(folder_ / "model.gguf"));
    EXPECT_EQ(place, folder_ / "model.gguf");
    models::SidecarFiles{.tokenizer = place}.write_to(folder_ / "out");
    const auto tokenizer = tokenizers::open_tokenizer(folder_ / "out");
    EXPECT_EQ(tokenizer->encode("aab<e>"), (tokenizers::Ids{0, 2, 3}));
    EXPECT_EQ(tokenizer->special.eos, 3);
}

// An evaluation has no place of its own where one could be made.
TEST_F(StartingFrom, ATokenizerIsMadeInTrainingOnly) {
    const Recipe recipe = read_recipe(resolve_recipe(
        formats::Json::parse("{\"model\": {" + small_decoder + "}, \"tokenizer\": \"bytes\"}", "recipe.json"),
        {text_of("data.train=", text_.string())}, "recipe.json"));
    testing::expect_error([&] { initial_model(recipe, {}); }, {"recipe.json", "tokenizer", "training"});
}

TEST_F(StartingFrom, ATokenizerThatIsNotThereIsNamedWithItsKey) {
    testing::expect_error([&] { start("{\"model\": {" + small_decoder + "}, \"tokenizer\": \"wordpeice\"}"); },
                          {"recipe.json", "tokenizer", "wordpeice", "wordpiece"});
}

}  // namespace
}  // namespace tessera::training
