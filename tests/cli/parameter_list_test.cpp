// tessera inspect --parameters: the names by which recipes freeze.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_success;
using testing::golden_path;

TEST(ParameterList, IsWhatTheFileHolds) {
    for (const char* golden : {"llama", "phi3", "gpt2", "vit", "mixtral", "t5"}) {
        const Json list =
            Json::parse(expect_success({"inspect", golden_path(golden), "--parameters", "--json"}).out, golden);
        const formats::Checkpoint checkpoint = formats::open_checkpoint(golden_path(golden));
        std::size_t found = 0;
        for (const Json& one : list.find("tensors")->items()) {
            const auto tensor = checkpoint.tensors.find(one.find("name")->as_string());
            if (tensor == checkpoint.tensors.end()) continue;
            ++found;
            EXPECT_EQ(one.find("dtype")->as_string(), name(tensor->second.dtype()));
            std::vector<std::int64_t> shape;
            for (const Json& size : one.find("shape")->items()) shape.push_back(size.as_integer());
            EXPECT_TRUE(
                std::equal(shape.begin(), shape.end(), tensor->second.shape().begin(), tensor->second.shape().end()))
                << golden << ": " << one.dump(0);
        }
        EXPECT_EQ(found, list.find("tensors")->items().size()) << golden;
    }
}

TEST(ParameterList, NeedsNoWeights) {
    const std::string out = expect_success({"inspect", "gpt2", "--parameters"}).out;
    EXPECT_NE(out.find("transformer.h.11.attn.c_attn.weight"), out.npos);
    EXPECT_NE(out.find("[768, 2304]"), out.npos);
    EXPECT_NE(out.find("124,439,808 parameters"), out.npos) << out.substr(out.size() - 100);
}

}  // namespace
}  // namespace tessera
