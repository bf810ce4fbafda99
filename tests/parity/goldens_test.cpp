// Every case under tests/goldens: each quantity that the reference computed, computed by us.
#include <gtest/gtest.h>

#include "parity/parity.h"
#include "support/golden_folders.h"

namespace tessera::parity {
namespace {

class Goldens : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Goldens, MatchTheReference) {
    const Outcome outcome = check_case(GetParam(), cpu);
    EXPECT_EQ(outcome.failure, "");
    EXPECT_FALSE(outcome.quantities.empty());
    for (const Quantity& quantity : outcome.quantities)
        EXPECT_TRUE(quantity.passed()) << quantity.name << ": error " << quantity.error << " " << quantity.note;
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, ::testing::ValuesIn(cases_in(testing::golden_path(""))), testing::folder_name);

}  // namespace
}  // namespace tessera::parity
