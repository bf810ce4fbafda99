// Safetensors files that are wrong in one way each: one clear error that names the file, the tensor and the field.
#include <gtest/gtest.h>

#include <limits>

#include "formats/safetensors_file.h"
#include "support/expect_error.h"

namespace tessera::formats {
namespace {

using testing::expect_error;
using testing::safetensors_file;

void expect_file_refused(const std::string& file, std::initializer_list<std::string> parts) {
    expect_error([&] { testing::parse_safetensors(file); }, {"a.safetensors: "});
    expect_error([&] { testing::parse_safetensors(file); }, parts);
}

void expect_refused(std::string_view header, std::size_t data_bytes, std::initializer_list<std::string> parts) {
    SCOPED_TRACE(header.substr(0, 200));
    expect_file_refused(safetensors_file(header, data_bytes), parts);
}

std::string with_length(std::uint64_t header_bytes, const std::string& rest) {
    std::string file(8, '\0');
    std::memcpy(file.data(), &header_bytes, 8);
    return file + rest;
}

// One tensor "w" of these fields, over 16 bytes.
void expect_tensor_refused(const std::string& dtype, const std::string& shape, const std::string& offsets,
                           std::initializer_list<std::string> parts) {
    const std::string header =
        text_of(R"({"w": {"dtype": )", dtype, R"(, "shape": )", shape, R"(, "data_offsets": )", offsets, "}}");
    expect_refused(header, 16, {"a.safetensors: tensor \"w\": "});
    expect_refused(header, 16, parts);
}

TEST(HostileSafetensors, TheWellFormedOneIsRead) {
    const std::string header = R"({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})";
    EXPECT_EQ(testing::parse_safetensors(safetensors_file(header, 16)).tensors.at("w").shape(), (Shape{2, 2}));
    EXPECT_TRUE(testing::parse_safetensors(safetensors_file("{}", 0)).tensors.empty());
}

TEST(HostileSafetensors, TooShort) {
    expect_file_refused("", {"0 bytes are too few"});
    expect_file_refused("1234567", {"7 bytes are too few"});
}

TEST(HostileSafetensors, HeaderLengthBeyondTheFile) {
    expect_file_refused(with_length(100, "{}"), {"header length 100", "past the end", "2 bytes"});
    expect_file_refused(with_length(3, "{}"), {"header length 3", "past the end"});
}

TEST(HostileSafetensors, HeaderLengthBeyondTheLimit) {
    for (const std::uint64_t bytes :
         {std::uint64_t{100'000'001}, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63})
        expect_file_refused(with_length(bytes, "{}"), {"header length", std::to_string(bytes), "100000000"});
}

TEST(HostileSafetensors, HeaderThatIsNoObject) {
    expect_refused("", 0, {"header"});
    expect_refused("[]", 0, {"header: expected an object"});
    expect_refused("{\"w\": 1}", 0, {"tensor \"w\"", "expected an object, found 1"});
    expect_refused("{\"w\"", 0, {"header: column 5"});
}

TEST(HostileSafetensors, DeepHeader) {
    expect_refused(text_of("{\"w\":", std::string(1'000'000, '[')), 0, {"header", "nested deeper"});
}

TEST(HostileSafetensors, NamesGivenTwice) {
    expect_refused(R"({"w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                       "w": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})",
                   2, {"header", "\"w\" is given twice"});
    expect_refused(R"({"w": {"dtype": "U8", "dtype": "I64", "shape": [1], "data_offsets": [0, 1]}})", 1,
                   {"header", "\"dtype\" is given twice"});
}

TEST(HostileSafetensors, Metadata) {
    expect_refused(R"({"__metadata__": []})", 0, {"__metadata__: expected an object"});
    expect_refused(R"({"__metadata__": {"a": 1}})", 0, {"__metadata__: \"a\": expected a string, found 1"});
}

TEST(HostileSafetensors, MissingFields) {
    expect_refused(R"({"w": {"shape": [1], "data_offsets": [0, 1]}})", 1, {"tensor \"w\": dtype: missing"});
    expect_refused(R"({"w": {"dtype": "U8", "data_offsets": [0, 1]}})", 1, {"tensor \"w\": shape: missing"});
    expect_refused(R"({"w": {"dtype": "U8", "shape": [1]}})", 1, {"tensor \"w\": data_offsets: missing"});
}

TEST(HostileSafetensors, Dtypes) {
    for (const std::string dtype : {"I8", "I16", "U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "C64", "f32", ""})
        expect_tensor_refused(text_of("\"", dtype, "\""), "[16]", "[0, 16]", {"dtype: ", dtype, "not supported"});
    expect_tensor_refused("7", "[16]", "[0, 16]", {"dtype: expected a string, found 7"});
}

TEST(HostileSafetensors, Dimensions) {
    expect_tensor_refused("\"F32\"", "[-4]", "[0, 16]", {"shape: ", "at least 0, found -4"});
    expect_tensor_refused("\"F32\"", "[-2, -2]", "[0, 16]", {"shape: ", "at least 0, found -2"});
    expect_tensor_refused("\"F32\"", "[4.0]", "[0, 16]", {"shape: ", "found 4.0"});
    expect_tensor_refused("\"F32\"", "[\"4\"]", "[0, 16]", {"shape: ", "found \"4\""});
    expect_tensor_refused("\"F32\"", "[null]", "[0, 16]", {"shape: ", "found null"});
    expect_tensor_refused("\"F32\"", "4", "[0, 16]", {"shape: expected an array", "found 4"});
    expect_tensor_refused("\"F32\"", "[1, 1, 1, 1, 1, 1, 1, 1, 4]", "[0, 16]", {"shape: 9 dimensions", "8"});
}

TEST(HostileSafetensors, ProductsThatOverflow) {
    for (const char* shape : {"[4294967296, 4294967296]", "[9223372036854775807, 2]", "[3037000500, 3037000500]",
                              "[4611686018427387904, 4, 4]", "[0, 4611686018427387904, 4611686018427387904]"})
        expect_tensor_refused("\"F32\"", shape, "[0, 16]", {"shape: ", "more elements"});
    expect_tensor_refused("\"F32\"", "[4611686018427387904]", "[0, 16]", {"shape: ", "more elements"});
    expect_tensor_refused("\"F32\"", "[18446744073709551616]", "[0, 16]", {"shape: "});
    expect_tensor_refused("\"F32\"", "[1152921504606846980]", "[0, 16]", {"data_offsets: 16 bytes"});
}

TEST(HostileSafetensors, OffsetsThatAreNone) {
    expect_tensor_refused("\"F32\"", "[4]", "[0]", {"data_offsets: expected two integers"});
    expect_tensor_refused("\"F32\"", "[4]", "[0, 8, 16]", {"data_offsets: expected two integers"});
    expect_tensor_refused("\"F32\"", "[4]", "16", {"data_offsets: expected two integers"});
    expect_tensor_refused("\"F32\"", "[4]", "[-16, 0]", {"data_offsets: ", "found -16"});
    expect_tensor_refused("\"F32\"", "[4]", "[0.0, 16]", {"data_offsets: ", "found 0.0"});
    expect_tensor_refused("\"F32\"", "[4]", "[16, 0]", {"data_offsets: ", "before their begin"});
}

TEST(HostileSafetensors, OffsetsThatDoNotFitDtypeAndShape) {
    expect_tensor_refused("\"F32\"", "[3]", "[0, 16]", {"data_offsets: 16 bytes", "f32 of shape (3) takes 12"});
    expect_tensor_refused("\"BF16\"", "[4]", "[0, 16]", {"data_offsets: 16 bytes", "takes 8"});
    expect_tensor_refused("\"F32\"", "[]", "[0, 16]", {"data_offsets: 16 bytes", "takes 4"});
    expect_tensor_refused("\"F32\"", "[0]", "[0, 16]", {"data_offsets: 16 bytes", "takes 0"});
}

TEST(HostileSafetensors, TruncatedData) {
    expect_tensor_refused("\"F32\"", "[5]", "[0, 20]", {"data_offsets: they end at 20, past the 16 bytes"});
    expect_tensor_refused("\"U8\"", "[9223372036854775807]", "[0, 9223372036854775807]",
                          {"data_offsets: ", "past the 16 bytes"});
}

TEST(HostileSafetensors, OverlapsAndGaps) {
    const auto two = [](const char* first, const char* second) {
        return text_of(R"({"a": {"dtype": "U8", "shape": [8], "data_offsets": )", first,
                       R"(}, "b": {"dtype": "U8", "shape": [8], "data_offsets": )", second, "}}");
    };
    EXPECT_NO_THROW(testing::parse_safetensors(safetensors_file(two("[8, 16]", "[0, 8]"), 16)));
    expect_refused(two("[0, 8]", "[4, 12]"), 16, {"tensor \"b\": data_offsets: they begin at 4 and overlap \"a\""});
    expect_refused(two("[0, 8]", "[0, 8]"), 8, {"data_offsets: they begin at 0 and overlap"});
    expect_refused(two("[0, 8]", "[9, 17]"), 17, {"tensor \"b\": data_offsets: a gap: bytes 8 to 9"});
    expect_refused(two("[1, 9]", "[9, 17]"), 17, {"tensor \"a\": data_offsets: a gap: bytes 0 to 1"});
    expect_refused(two("[0, 8]", "[8, 16]"), 17, {"data_offsets: the tensors end at 16, but the file has 17 bytes"});
    expect_refused("{}", 1, {"data_offsets: the tensors end at 0, but the file has 1 bytes"});
}

TEST(HostileSafetensors, BooleansOtherThanZeroAndOne) {
    const std::string header = R"({"m": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}})";
    EXPECT_TRUE(testing::parse_safetensors(safetensors_file(header, 0) + std::string("\0\1", 2))
                    .tensors.at("m")
                    .data<bool>()[1]);
    expect_file_refused(safetensors_file(header, 0) + "\1\2", {"tensor \"m\": BOOL data", "other than 0 and 1"});
}

}  // namespace
}  // namespace tessera::formats
