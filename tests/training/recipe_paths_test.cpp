// Paths in a recipe are looked for beside it, then from the working directory, and written whole.
#include "tessera/training/recipe/recipe_paths.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::expect_error;
using testing::TemporaryFolder;

// The working directory of this test, and back.
class WorkingIn {
   public:
    explicit WorkingIn(const fs::path& folder) {
        fs::create_directories(folder);
        fs::current_path(folder);
    }
    ~WorkingIn() { fs::current_path(before_); }
    WorkingIn(const WorkingIn&) = delete;

   private:
    fs::path before_ = fs::current_path();
};

class RecipePaths : public ::testing::Test {
   protected:
    RecipePaths() {
        for (const char* file : {"recipes/beside.txt", "recipes/both.txt", "work/both.txt", "work/here.txt",
                                 "recipes/model/config.json", "data/a.txt", "recipes/characters", "recipes/gpt2/x"})
            folder_.write(file, "{}");
    }
    formats::Config resolved(Json recipe, const std::vector<std::string>& overrides = {}) const {
        const fs::path file = folder_ / "recipes/recipe.json";
        recipe.write(file);
        return resolve_recipe_file(file, overrides);
    }
    static Json with_data(Json data) {
        return Json::object().set("model", "gpt2").set("data", Json::object().set("train", std::move(data)));
    }
    std::vector<std::string> found(Json data, const std::vector<std::string>& overrides = {}) const {
        return resolved(with_data(std::move(data)), overrides).section("data").texts("train");
    }
    std::string at(const std::string& name) const { return folder_ / name; }

    TemporaryFolder folder_;
    WorkingIn work_{folder_ / "work"};
};

TEST_F(RecipePaths, BesideTheRecipeFirst) {
    EXPECT_EQ(found("beside.txt"), std::vector{at("recipes/beside.txt")});
    EXPECT_EQ(found("both.txt"), std::vector{at("recipes/both.txt")});
    EXPECT_EQ(found("here.txt"), std::vector{at("work/here.txt")});
    EXPECT_EQ(found("../data"), std::vector{at("data")});
    EXPECT_EQ(found("../data/"), std::vector{at("data")});
    EXPECT_EQ(found(at("data/a.txt")), std::vector{at("data/a.txt")});
    EXPECT_EQ(found(Json::array().push_back("beside.txt").push_back("here.txt")),
              (std::vector{at("recipes/beside.txt"), at("work/here.txt")}));
}

TEST_F(RecipePaths, OfTheCommandLineFromTheWorkingDirectory) {
    EXPECT_EQ(found("beside.txt", {"data.train=both.txt"}), std::vector{at("work/both.txt")});
    EXPECT_EQ(found("beside.txt", {"data.train=beside.txt"}), std::vector<std::string>{"beside.txt"});
}

TEST_F(RecipePaths, NamesStayNames) {
    Json recipe = with_data("beside.txt");
    recipe.set("tokenizer", "characters");
    const formats::Config config = resolved(recipe);
    EXPECT_EQ(config.text("model"), "gpt2");
    EXPECT_EQ(config.text("tokenizer"), "characters");
    EXPECT_EQ(config.text("weights"), "");
    recipe.set("model", "model").set("tokenizer", "model").set("weights", "model");
    for (const char* key : {"model", "tokenizer", "weights"})
        EXPECT_EQ(resolved(recipe).text(key), at("recipes/model")) << key;
}

TEST_F(RecipePaths, TheWholeRecipeMeansTheSameEverywhere) {
    const Json once = resolved(with_data("beside.txt")).json();
    const WorkingIn elsewhere(folder_ / "data");
    folder_.write("data/beside.txt", "another");
    folder_.write("runs/recipe.json", once.dump());
    EXPECT_EQ(resolve_recipe_file(folder_ / "runs/recipe.json").json(), once);
}

TEST_F(RecipePaths, WhatLeadsNowhereIsRefusedByKeyAndPath) {
    const auto check_with = [&](const std::vector<std::string>& overrides) {
        check_paths(read_recipe(resolved(with_data("beside.txt"), overrides)));
    };
    EXPECT_NO_THROW(check_with({}));
    for (const char* key : {"data.train", "data.validation", "weights"})
        expect_error([&] { check_with({text_of(key, "=gone/x")}); },
                     {"recipe.json", text_of(key, ": 'gone/x': no such file"), at("work")});
    expect_error([&] { check_with({"data.train="}); }, {"data.train", "expected a path"});
    expect_error([&] { check_with({"data.train=[]"}); }, {"data.train", "found none"});
    expect_error([&] { check_with({"data.train=" + std::string(300, 'x')}); }, {"data.train", "no such file"});
}

// A link to a folder has other folders above it than its name says.
TEST_F(RecipePaths, LinksAreFollowedAsTheSystemDoes) {
    fs::create_directories(folder_ / "far/away");
    folder_.write("far/a.txt", "far");
    folder_.write("recipes/a.txt", "near");
    fs::create_directory_symlink(folder_ / "far/away", folder_ / "recipes/link");
    EXPECT_TRUE(fs::equivalent(found("link/../a.txt")[0], folder_ / "far/a.txt"));
}

}  // namespace
}  // namespace tessera::training
