#include "formats/checkpoint.h"

#include <gtest/gtest.h>

#include "support/goldens.h"

namespace tessera::formats {
namespace {

TEST(Checkpoint, OpensAFolderAsTheTestsOwnReaderDoes) {
    const Checkpoint checkpoint = open_checkpoint(testing::golden_path("gpt2"));
    const testing::Golden golden("gpt2/model.safetensors");
    EXPECT_EQ(checkpoint.config.text("model_type"), "gpt2");
    ASSERT_EQ(checkpoint.tensors.size(), golden.tensors().size());
    for (const auto& [name, tensor] : golden.tensors()) {
        const Tensor& found = checkpoint.tensors.at(name);
        EXPECT_EQ(found.shape(), tensor.shape()) << name;
        EXPECT_EQ(found.to_vector<float>(), tensor.to_vector<float>()) << name;
    }
}

}  // namespace
}  // namespace tessera::formats
