// Every recipe that comes with the program is one that it understands.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/goldens.h"
#include "tessera/models/catalog.h"
#include "tessera/training/objectives/objective.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

// Beside the recipe, so that it can be trained from any working directory.
bool is_in_its_place(const std::filesystem::path& file, const std::string& data) {
    const std::string whole = (file.parent_path() / data).lexically_normal();
    return whole.starts_with(testing::source_path("data/")) || whole.starts_with(testing::source_path("recipes/"));
}

TEST(Recipes, AllResolveAndNameAModel) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_path("recipes"))) {
        if (entry.is_directory() || entry.path().string().ends_with(".scenes.json")) continue;
        const std::string file = entry.path().string();
        const Recipe recipe = read_recipe(resolve_recipe_file(file));
        formats::Json config = *recipe.resolved.json().find("model");
        if (!config.find("vocab_size")) config.set("vocab_size", 100);
        EXPECT_GT(nn::parameter_count(*models::build({config, file})), 0) << file;
        for (const std::string& data : recipe.train_data)
            EXPECT_TRUE(is_in_its_place(file, data)) << file << ": " << data;
        EXPECT_TRUE(!recipe.validation_data.empty() || recipe.held_out > 0) << file;
        ++count;
    }
    EXPECT_GE(count, 8u);
}

}  // namespace
}  // namespace tessera::training
