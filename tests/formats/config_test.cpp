#include "tessera/formats/config.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera::formats {
namespace {

using testing::expect_error;

Config config_of(std::string_view text) { return {Json::parse(text, "DIR/config.json"), "DIR/config.json"}; }

TEST(Config, ReadsFields) {
    const Config config = config_of(R"({"width": 64, "layers": 4096.0, "eps": 1e-05, "theta": 10000, "tie": true,
        "type": "x", "ids": [1, 2], "factors": [1, 2.5], "names": ["a"], "none": null, "zero": 0})");
    EXPECT_EQ(config.positive("width"), 64);
    EXPECT_EQ(config.positive("layers"), 4096);  // a writer's division may leave a float
    EXPECT_EQ(config.integer("layers"), 4096);
    EXPECT_EQ(config.integer("zero"), 0);
    EXPECT_EQ(config.number("eps"), 1e-05);
    EXPECT_EQ(config.number("theta"), 10000);
    EXPECT_TRUE(config.boolean("tie"));
    EXPECT_EQ(config.text("type"), "x");
    EXPECT_EQ(config.integers("ids"), (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(config.numbers("factors"), (std::vector<double>{1, 2.5}));
    EXPECT_EQ(config.texts("names"), (std::vector<std::string>{"a"}));
    EXPECT_EQ(config.source(), "DIR/config.json");
}

TEST(Config, NullAndAbsentTakeTheFallback) {
    const Config config = config_of(R"({"none": null, "there": 3})");
    for (const char* name : {"none", "absent"}) {
        EXPECT_FALSE(config.has(name));
        EXPECT_EQ(config.integer(name, 7), 7);
        EXPECT_EQ(config.positive(name, 8), 8);
        EXPECT_EQ(config.number(name, 0.5), 0.5);
        EXPECT_TRUE(config.boolean(name, true));
        EXPECT_EQ(config.text(name, "y"), "y");
        expect_error([&] { config.integer(name); }, {"DIR/config.json: ", name, "missing"});
        expect_error([&] { config.integers(name); }, {"DIR/config.json: ", name, "missing"});
    }
    EXPECT_TRUE(config.has("there"));
    EXPECT_EQ(config.integer("there", 7), 3);
}

TEST(Config, ErrorsNameFileSectionFieldAndValue) {
    const Config text =
        config_of(R"({"text_config": {"hidden_size": "abc", "rope": {"theta": []}}})").section("text_config");
    expect_error([&] { text.positive("hidden_size"); },
                 {"DIR/config.json: text_config.hidden_size: expected a positive integer, found \"abc\""});
    expect_error([&] { text.section("rope").number("theta"); },
                 {"DIR/config.json: text_config.rope.theta: expected a number, found an array of 0"});
    expect_error([&] { text.reject("hidden_size", "does not divide"); },
                 {"DIR/config.json: text_config.hidden_size: does not divide"});
    expect_error([&] { text.section_or_empty("vision").integer("depth"); }, {"text_config.vision.depth: missing"});
}

TEST(Config, SizesMustBeSane) {
    const Config config = config_of(
        R"({"a": 0, "b": -64, "c": 2147483648, "d": 1.5, "e": "7", "f": true, "g": 1e30, "h": [64], "ok": 2147483647})");
    for (const char* name : {"a", "b", "d", "e", "f", "g", "h"}) {
        expect_error([&] { config.positive(name); }, {text_of(name, ": expected a positive integer, found ")});
        expect_error([&] { config.positive(name, 1); }, {text_of(name, ": expected a positive integer, found ")});
    }
    expect_error([&] { config.positive("c"); }, {"c: expected a size below 2^31, found 2147483648"});
    EXPECT_EQ(config.positive("ok"), 2147483647);
    for (const char* name : {"d", "e", "f", "g", "h"})
        expect_error([&] { config.integer(name); }, {text_of(name, ": expected an integer, found ")});
}

TEST(Config, EveryGetterChecksTheKind) {
    const Config config = config_of(R"({"one": 1, "text": "x", "mixed": [1, "x"], "list": []})");
    expect_error([&] { config.boolean("one"); }, {"one: expected true or false, found 1"});
    expect_error([&] { config.boolean("one", true); }, {"one: expected true or false, found 1"});
    expect_error([&] { config.text("one"); }, {"one: expected a string, found 1"});
    expect_error([&] { config.number("text"); }, {"text: expected a number, found \"x\""});
    expect_error([&] { config.integers("mixed"); }, {"mixed[1]: expected an integer, found \"x\""});
    expect_error([&] { config.texts("mixed"); }, {"mixed[0]: expected a string, found 1"});
    expect_error([&] { config.numbers("one"); }, {"one: expected an array"});
    expect_error([&] { config.section("list"); }, {"DIR/config.json: list: expected an object"});
    expect_error([&] { config.section_or_empty("list"); }, {"DIR/config.json: list: expected an object"});
    expect_error([] { config_of("[1]"); }, {"DIR/config.json: expected an object, found an array of 1"});
}

TEST(Config, SectionsMayBeAbsent) {
    const Config config = config_of(R"({"none": null})");
    EXPECT_FALSE(config.section_or_empty("none").has("a"));
    EXPECT_TRUE(config.section_or_empty("absent").json().members().empty());
    expect_error([&] { config.section("none"); }, {"none: missing"});
    EXPECT_FALSE(Config().has("a"));
    expect_error([] { Config().text("a"); }, {"a: missing"});
}

}  // namespace
}  // namespace tessera::formats
