// Every case under tests/goldens, on every device that is there: each quantity that the reference computed, computed by
// us.
#include <gtest/gtest.h>

#include "support/golden_folders.h"
#include "tessera/parity/parity.h"

namespace tessera::parity {
namespace {

class Goldens : public ::testing::TestWithParam<std::filesystem::path> {};

void expect_parity(const std::filesystem::path& folder, Device device) {
    const Outcome outcome = check_case(folder, device);
    EXPECT_EQ(outcome.failure, "");
    EXPECT_FALSE(outcome.quantities.empty());
    for (const Quantity& quantity : outcome.quantities)
        EXPECT_TRUE(quantity.passed()) << quantity.name << ": error " << quantity.error << " " << quantity.note;
}

TEST_P(Goldens, MatchTheReference) { expect_parity(GetParam(), cpu); }

TEST_P(Goldens, MatchTheReferenceOnCuda) {
    if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    expect_parity(GetParam(), cuda);
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, ::testing::ValuesIn(cases_in(testing::golden_path(""))), testing::folder_name);
// Texts longer than a piece of a prompt, than windows, and than the lengths at which rotary positions begin to scale.
INSTANTIATE_TEST_SUITE_P(Long, Goldens, ::testing::ValuesIn(cases_in(testing::golden_path("long"))),
                         testing::folder_name);

}  // namespace
}  // namespace tessera::parity
