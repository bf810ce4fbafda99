#include "tessera/text/edit_distance.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EditDistance, CountsWhatMustChange) {
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("HELLO", "HELLO"), 0);
    EXPECT_EQ(edit_distance("AB", "BA"), 2);
}

}  // namespace
}  // namespace tessera
