// tessera embed --similarity: which texts are alike.
#include "tessera/cli/commands/similarity_table.h"

#include <gtest/gtest.h>

#include "cli/program.h"

namespace tessera {
namespace {

TEST(Similarity, NamesTheNearest) {
    const Tensor vectors = Tensor::from<float>({1, 0, 0, 2, 3, 4, 0, 0}, {4, 2});
    const cli::Similarities found = cli::similarities_of({"east", "north", "both", "none"}, vectors);
    EXPECT_EQ(found.nearest, (std::vector<std::size_t>{2, 2, 1, 0}));
    EXPECT_DOUBLE_EQ(found.cosines[0][0], 1);
    EXPECT_DOUBLE_EQ(found.cosines[0][1], 0);
    EXPECT_DOUBLE_EQ(found.cosines[0][2], 0.6);
    EXPECT_DOUBLE_EQ(found.cosines[2][1], 0.8);
    EXPECT_DOUBLE_EQ(found.cosines[3][3], 0);  // a vector of zeros points nowhere
    const std::string table = cli::table_of(found);
    EXPECT_NE(table.find("nearest to 1: 3 (0.600)  both"), table.npos) << table;
    const formats::Json json = cli::to_json(found);
    EXPECT_EQ(json.find("nearest")->items()[2].as_integer(), 1);
}

}  // namespace
}  // namespace tessera
