#include "tessera/formats/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace tessera::formats {
namespace {

using testing::expect_error;

Json parse(std::string_view text) { return Json::parse(text, "a.json"); }

void expect_refused(std::string_view text, std::initializer_list<std::string> parts) {
    SCOPED_TRACE(text.substr(0, 60));
    expect_error([&] { parse(text); }, {"a.json: "});
    expect_error([&] { parse(text); }, parts);
}

TEST(Json, ReadsEveryKind) {
    const Json json =
        parse(R"({"none": null, "yes": true, "count": -7, "rate": 1e-05, "name": "h\u00e9", "list": [1, 2.5]})");
    ASSERT_EQ(json.members().size(), 6u);
    EXPECT_TRUE(json.find("none")->is_null());
    EXPECT_TRUE(json.find("yes")->as_boolean());
    EXPECT_EQ(json.find("count")->as_integer(), -7);
    EXPECT_EQ(json.find("count")->as_number(), -7.0);
    EXPECT_EQ(json.find("rate")->as_number(), 1e-05);
    EXPECT_FALSE(json.find("rate")->is_integer());
    EXPECT_EQ(json.find("name")->as_string(), "h\xc3\xa9");
    EXPECT_EQ(json.find("list")->items().at(1).as_number(), 2.5);
    EXPECT_EQ(json.find("missing"), nullptr);
}

TEST(Json, KeepsTheOrderOfMembersAndFindsEach) {
    std::string text = "{";
    for (int i = 0; i < 1000; ++i) text += text_of(i ? "," : "", "\"key ", (i * 7919) % 1000, "\":", i);
    const Json json = parse(text + "}");
    for (int i = 0; i < 1000; ++i) {
        const std::string key = text_of("key ", (i * 7919) % 1000);
        EXPECT_EQ(json.members()[static_cast<std::size_t>(i)].key, key);
        EXPECT_EQ(json.find(key)->as_integer(), i);
    }
}

TEST(Json, SetReplacesInPlaceOrAppends) {
    Json json = parse(R"({"z": 1, "a": 2})");
    json.set("z", "new").set("m", Json::array().push_back(true).push_back(Json()));
    EXPECT_EQ(json.dump(0), R"({"z":"new","a":2,"m":[true,null]})");
    EXPECT_EQ(json.find("a")->as_integer(), 2);
    EXPECT_EQ(json.find("m")->items().size(), 2u);
}

TEST(Json, DumpsAsPythonIndents) {
    EXPECT_EQ(parse(R"({"a":[1,{}],"b":[]})").dump(), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(Json, NumbersComeBackToTheBit) {
    const double values[] = {1e-05, 0.1,  1.0 / 3, 1e300, 5e-324,     -0.0, 4096.0, 10000.0,
                             1e22,  1e23, -1.5,    1e15,  1.7976e308, 1e16, 0x1p63};
    for (const double value : values) {
        const Json back = parse(Json(value).dump());
        EXPECT_EQ(back.kind(), Json::Kind::Number) << value;
        EXPECT_EQ(back.as_number(), value);
        EXPECT_EQ(std::signbit(back.as_number()), std::signbit(value));
    }
    for (const std::int64_t value :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
        EXPECT_EQ(parse(Json(value).dump()).as_integer(), value);
    EXPECT_EQ(Json(1e-05).dump(), "1e-05");
    // Past 64 bits an integer is a number: tokenizers write 10^30 for "no limit".
    EXPECT_EQ(parse("1000000000000000019884624838656").as_number(), 1e30);
    EXPECT_EQ(parse("9223372036854775808").as_number(), 0x1p63);
}

TEST(Json, StringsComeBack) {
    const std::string text("quote \" slash \\ line \n zero \0 euro \xe2\x82\xac", 39);
    EXPECT_EQ(parse(Json(text).dump()).as_string(), text);
    EXPECT_EQ(parse(R"("\ud83d\ude00")").as_string(), "\xf0\x9f\x98\x80");
    expect_error([] { Json("\xff").dump(); }, {"not UTF-8"});
    expect_error([] { Json(std::nan("")).dump(); }, {"nan"});
}

TEST(Json, ErrorsSayWhere) {
    expect_refused("{\n  \"a\": 1,\n  \"b\": }", {"line 3, column 8: expected a value", "found '}'"});
    expect_refused("", {"is empty"});
    expect_refused(" \n\t", {"is empty"});
    expect_refused("hello", {"column 1: expected a value", "found 'h'"});
    expect_refused("{\"a\": 1,}", {"column 9: expected a key in quotes, found '}'"});
    expect_refused("[1, 2", {"column 6: expected ',' or ']', found the end"});
    expect_refused("{} x", {"column 4: expected nothing after the value, found 'x'"});
    expect_refused("[1] // note", {"column 5: expected nothing after the value"});
    expect_refused("{'a': 1}", {"column 2: expected a key in quotes, found '''"});
    expect_refused("[1,]", {"column 4: expected a value"});
    expect_refused("[01]", {"column 3"});
    expect_refused(R"(["\x"])", {"column 4: invalid string"});
    expect_refused("[-]", {"column 3: invalid number"});
    expect_refused(std::string_view("{}\0x", 4), {"byte 2", "zero byte"});
}

TEST(Json, RefusesWhatPythonWritesBeyondJson) {
    expect_refused(R"({"a": NaN})", {"column 7", "NaN is no JSON number"});
    expect_refused(R"({"a": Infinity})", {"Infinity is no JSON number"});
    expect_refused(R"({"a": -Infinity})", {"Infinity is no JSON number"});
    expect_refused("[1e999]", {"number overflow"});
}

TEST(Json, RefusesKeysGivenTwice) {
    expect_refused(R"({"a": {"dim": 1, "b": 2, "dim": 1}})", {"\"dim\" is given twice"});
    EXPECT_EQ(parse(R"({"a": {"a": 1}})").dump(0), R"({"a":{"a":1}})");
}

TEST(Json, RefusesBadText) {
    for (const char* text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "\"\xf5\x80\x80\x80\""})
        expect_refused(text, {"UTF-8"});
    expect_refused("\"\\ud800\"", {"surrogate"});
    expect_refused("\"a\nb\"", {"control character"});
}

TEST(Json, KeepsItsLimits) {
    const auto nested = [](int depth) {
        return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
    };
    EXPECT_EQ(parse(nested(64)).dump(0), nested(64));
    expect_refused(nested(65), {"nested deeper than 64"});
    expect_refused(std::string(1'000'000, '['), {"nested deeper than 64"});
    EXPECT_NO_THROW(Json::parse("[1,2]", "a.json", {.values = 3}));
    expect_error([] { Json::parse("[1,2,3]", "a.json", {.values = 3}); }, {"a.json", "more than 3 values"});
    expect_error([] { Json::parse("[1,2,3]", "a.json", {.bytes = 6}); }, {"a.json", "7 bytes", "limit of 6"});
}

TEST(Json, TheWrongKindIsAnErrorThatShowsTheValue) {
    expect_error([] { parse("\"abc\"").as_integer(); }, {"expected an integer", "\"abc\""});
    expect_error([] { parse("1.5").as_integer(); }, {"expected an integer", "1.5"});
    expect_error([] { parse("[1]").as_string(); }, {"expected a string", "an array of 1"});
    const Json null;
    expect_error([&] { null.find("a"); }, {"expected an object", "null"});
    expect_error([] { parse("{}").items(); }, {"expected an array", "an object"});
    expect_error([] { parse("{}").as_number(); }, {"expected a number"});
    expect_error([] { parse("0").as_boolean(); }, {"expected true or false", "0"});
    expect_error([] { Json(std::numeric_limits<std::uint64_t>::max()); }, {"18446744073709551615"});
    EXPECT_LT(Json(std::string(100'000, 'x')).brief().size(), 60u);
}

TEST(Json, ATemporaryCanBeLoopedOver) {
    std::string long_enough(100, 'x'), seen;
    for (const auto& [key, value] : parse(text_of("{\"", long_enough, "\": 1}")).members()) seen += key;
    for (const Json& item : parse(text_of("[\"", long_enough, "\"]")).items()) seen += item.as_string();
    for (const char letter : parse(text_of("\"", long_enough, "\"")).as_string()) seen += letter;
    EXPECT_EQ(seen, std::string(300, 'x'));
}

TEST(Json, ReadsAndWritesFiles) {
    const testing::TemporaryFolder folder;
    const Json json = parse(R"({"a": [1, 2.0, "x"]})");
    json.write(folder / "a.json");
    EXPECT_EQ(Json::read(folder / "a.json"), json);
    EXPECT_EQ(folder.read("a.json"), json.dump() + "\n");
    EXPECT_EQ(Json::read(folder.write("bom.json", "\xef\xbb\xbf{}")), Json::object());
    expect_error([&] { Json::read(folder / "b.json"); }, {(folder / "b.json").string(), "no such file"});
    expect_error([&] { Json::read(folder.path()); }, {folder.path().string(), "not a regular file"});
    expect_error([&] { Json::read(folder / "a.json", {.bytes = 10}); }, {"a.json", "limit of 10"});
    const auto broken = folder.write("broken.json", "{\n\n]");
    expect_error([&] { Json::read(broken); }, {broken.string(), "line 3"});
}

}  // namespace
}  // namespace tessera::formats
