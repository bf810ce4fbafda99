// Every op has tests in a file of its name: cases for the harness, what the harness cannot say, or both.
#include <gtest/gtest.h>

#include <set>

#include "architecture/sources.h"

namespace tessera::architecture {
namespace {

namespace fs = std::filesystem;

// Headers without an op: what several ops share.
const std::set<std::string> shared_headers = {"attention_inputs", "compute_dtype", "weight_product"};

TEST(OpTests, EveryOpHasTestsOfItsName) {
    const fs::path tests = fs::path(TESSERA_SOURCE_DIR) / "tests/ops";
    int ops = 0;
    for (const fs::path& path : sources()) {
        if (!relative_name(path).starts_with("ops/") || path.extension() != ".h") continue;
        const std::string op = path.stem();
        if (shared_headers.contains(op)) continue;
        ++ops;
        EXPECT_TRUE(fs::exists(tests / (op + "_test.cpp")) || fs::exists(tests / (op + "_cases.cpp"))) << op;
    }
    EXPECT_GT(ops, 20);
}

}  // namespace
}  // namespace tessera::architecture
