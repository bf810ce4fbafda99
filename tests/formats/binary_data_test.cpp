#include "tessera/formats/binary_data.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera::formats {
namespace {

using namespace std::string_literals;

TEST(BinaryData, IsNamedByItsFirstBytes) {
    const std::pair<std::string, const char*> files[] = {
        {"\x89PNG\r\n\x1A\n\0\0\0\rIHDR"s, "PNG"},
        {"\xFF\xD8\xFF\xE0"s, "JPEG"},
        {"GIF89a\1\0"s, "GIF"},
        {"RIFF\1\0\0\0WEBPVP8 "s, "WebP"},
        {"%PDF-1.7\n"s, "PDF"},
        {"PK\x03\x04\x14\0"s, "zip"},
        {"\x1F\x8B\x08\0"s, "gzip"},
        {"GGUF\3\0\0\0"s, "GGUF"},
        {"\x40\0\0\0\0\0\0\0{\"weight\":"s, "safetensors"},
        {"\x93NUMPY\1\0"s, "NumPy"},
        {"\xFF\xFEh\0i\0"s, "UTF-16"},
        {"\xFE\xFF\0h\0i"s, "UTF-16"},
    };
    for (const auto& [bytes, name] : files)
        testing::expect_error([&] { check_is_text(bytes, "corpus.txt"); }, {"corpus.txt: is no text but", name});
}

TEST(BinaryData, HoldsAZeroSomewhere) {
    testing::expect_error([] { check_is_text("plain text\0and more"s, "corpus.txt"); }, {"corpus.txt", "byte 10"});
    testing::expect_error([] { check_is_text("\0"s, "corpus.txt"); }, {"corpus.txt", "byte 0"});
}

TEST(BinaryData, IsNotWhatIsMerelyNoUtf8) {
    for (const std::string& text : {""s, "Hello\n"s, "caf\xE9 in Latin-1"s, "\xFF\xFE a label"s, "\xEF\xBB\xBFtext"s,
                                    "GGUF is a format, PK a name, BZh too"s, "GIF89 and RIFF"s, "\x1B[31m"s})
        EXPECT_NO_THROW(check_is_text(text, "corpus.txt"));
}

}  // namespace
}  // namespace tessera::formats
