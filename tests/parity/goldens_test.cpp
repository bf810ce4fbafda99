// Every case under tests/goldens: each quantity that the reference computed, computed by us.
#include <gtest/gtest.h>

#include "parity/parity.h"
#include "support/goldens.h"

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

std::string test_name(const ::testing::TestParamInfo<std::filesystem::path>& info) {
    std::string name = info.param.filename().string();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, ::testing::ValuesIn(cases_in(testing::golden_path(""))), test_name);

}  // namespace
}  // namespace tessera::parity
