#include "tessera/core/error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Error, SaysAllOfATextThatHoldsAZeroByte) {
    try {
        fail("config.json: model: '", std::string_view("a\0b", 3), "' is no model");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "config.json: model: 'a\\0b' is no model");
    }
}

}  // namespace
}  // namespace tessera
