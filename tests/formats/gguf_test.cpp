#include "tessera/formats/gguf.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/quantised.h"
#include "tessera/formats/gguf_tokenizer.h"

namespace tessera::formats {
namespace {

using testing::Bytes;
using testing::expect_error;
using testing::GgufBuilder;

void expect_refused(const GgufBuilder& builder, std::initializer_list<std::string> parts) {
    expect_error([&] { builder.parse(); }, {"test.gguf"});
    expect_error([&] { builder.parse(); }, parts);
}

TEST(Gguf, MetadataOfEveryTypeComesBack) {
    for (const std::uint32_t version : {2u, 3u}) {
        GgufBuilder builder;
        builder.version = version;
        builder.set("u8", std::uint8_t{200}).set("i8", std::int8_t{-5}).set("u16", std::uint16_t{60000});
        builder.set("i16", std::int16_t{-300}).set("u32", std::uint32_t{4000000000}).set("i32", std::int32_t{-7});
        builder.set("u64", std::uint64_t{1} << 62).set("i64", std::int64_t{-1} << 40);
        builder.set("f32", 0.25f).set("f64", 0.1).set("yes", true).set("no", false).set("name", "a “b”");
        builder.set_array("ints", std::vector<std::int32_t>{3, -4}).set_array("bytes", std::vector<std::uint8_t>{255});
        builder.set_array("floats", std::vector<float>{1.5f, -2}).set_array("words", std::vector<std::string>{"", "x"});
        builder.set_array("bits", std::vector<bool>{true, false}).set_array("none", std::vector<std::string>{});
        const Gguf gguf = builder.parse();
        EXPECT_EQ(gguf.integer("u8"), 200);
        EXPECT_EQ(gguf.integer("i8"), -5);
        EXPECT_EQ(gguf.integer("u16"), 60000);
        EXPECT_EQ(gguf.integer("i16"), -300);
        EXPECT_EQ(gguf.integer("u32"), 4000000000);
        EXPECT_EQ(gguf.integer("i32"), -7);
        EXPECT_EQ(gguf.integer("u64"), std::int64_t{1} << 62);
        EXPECT_EQ(gguf.integer("i64"), std::int64_t{-1} << 40);
        EXPECT_EQ(gguf.number("f32"), 0.25);
        EXPECT_EQ(gguf.number("f64"), 0.1);
        EXPECT_EQ(gguf.number("i32"), -7);
        EXPECT_TRUE(gguf.boolean("yes"));
        EXPECT_FALSE(gguf.boolean("no"));
        EXPECT_EQ(gguf.text("name"), "a “b”");
        EXPECT_EQ(gguf.integers("ints"), (std::vector<std::int64_t>{3, -4}));
        EXPECT_EQ(gguf.integers("bytes"), (std::vector<std::int64_t>{255}));
        EXPECT_EQ(gguf.numbers("floats"), (std::vector<double>{1.5, -2}));
        EXPECT_EQ(gguf.texts("words"), (std::vector<std::string>{"", "x"}));
        EXPECT_EQ(std::get<std::vector<bool>>(gguf.metadata.at("bits")), (std::vector<bool>{true, false}));
        EXPECT_TRUE(gguf.texts("none").empty());
        EXPECT_EQ(gguf.integer("absent", 9), 9);
        EXPECT_EQ(gguf.number("absent", 0.5), 0.5);
        EXPECT_EQ(gguf.text("absent", "x"), "x");
        EXPECT_TRUE(gguf.boolean("absent", true));
    }
}

TEST(Gguf, GettersNameFileAndKey) {
    GgufBuilder builder;
    const Gguf gguf = builder.set("size", "large").set("list", std::int32_t{3}).parse();
    expect_error([&] { gguf.integer("size"); }, {"test.gguf", "size", "an integer"});
    expect_error([&] { gguf.integer("size", 3); }, {"test.gguf", "size", "an integer"});
    expect_error([&] { gguf.number("size"); }, {"test.gguf", "size", "a number"});
    expect_error([&] { gguf.text("list"); }, {"test.gguf", "list", "a string"});
    expect_error([&] { gguf.texts("list"); }, {"test.gguf", "list", "an array of strings"});
    expect_error([&] { gguf.boolean("absent"); }, {"test.gguf", "absent", "missing"});
    expect_error([&] { gguf.tensor("absent"); }, {"test.gguf", "absent", "missing"});
}

TEST(Gguf, TensorsComeBackWithOurOrderOfDimensions) {
    for (const std::uint64_t alignment : {32, 8, 256}) {
        GgufBuilder builder;
        builder.alignment = alignment;
        if (alignment != 32) builder.set("general.alignment", static_cast<std::uint32_t>(alignment));
        std::map<std::string, Tensor> tensors;
        for (const auto& [dtype, type] : GgufBuilder::file_types()) {
            const bool floating = is_float(dtype) || is_quantised(dtype);
            tensors.emplace(name(dtype), floating ? testing::random_tensor({2, 3, 256}, 1).to(dtype)
                                                  : Tensor::arange(24, dtype).with_layout({2, 12}, {12, 1}, 0));
        }
        tensors.emplace("vector", Tensor::arange(5, DType::F32));
        for (const auto& [name, tensor] : tensors) builder.tensor(name, tensor);
        const Gguf gguf = builder.parse();
        ASSERT_EQ(gguf.tensors.size(), tensors.size());
        for (const auto& [name, tensor] : tensors) {
            EXPECT_EQ(gguf.tensor(name).shape(), tensor.shape()) << name;
            EXPECT_EQ(gguf.tensor(name).dtype(), tensor.dtype()) << name;
            EXPECT_EQ(gguf.tensor(name).to_vector<float>(), tensor.to_vector<float>()) << name;
        }
    }
}

TEST(Gguf, FilesAreMapped) {
    const auto path = std::filesystem::temp_directory_path() / text_of("tessera_gguf_", ::getpid(), ".gguf");
    GgufBuilder builder;
    builder.tensor("a", Tensor::arange(64, DType::F32));
    builder.write(path);
    const Gguf gguf = read_gguf(path);
    std::filesystem::remove(path);
    EXPECT_EQ(gguf.source, path.string());
    EXPECT_EQ(gguf.tensor("a").to_vector<float>(), Tensor::arange(64, DType::F32).to_vector<float>());
    expect_error([&] { read_gguf(path); }, {path.string()});
}

TEST(Gguf, MisalignedDataAreCopied) {
    GgufBuilder builder;
    builder.alignment = 1;
    builder.set("general.alignment", std::uint32_t{1});
    for (const char* name : {"a", "bc", "def", "ghij"}) {
        builder.tensor(name, Tensor::arange(6, DType::F32));
        builder.tensor(text_of(name, ".u"), Tensor::arange(32, DType::F32).to(DType::Q4_0));
        builder.records.back().data.push_back({});
    }
    const Gguf gguf = builder.parse();
    for (const char* name : {"a", "bc", "def", "ghij"})
        EXPECT_EQ(gguf.tensor(name).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Gguf, EveryTruncationIsOneError) {
    GgufBuilder builder;
    builder.set("general.name", "x").set_array("list", std::vector<std::string>{"ab", "c"});
    builder.tensor("a", Tensor::arange(8, DType::F32));
    const Bytes whole = builder.build();
    ASSERT_NO_THROW(GgufBuilder::parse_bytes(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
        expect_error([&] { GgufBuilder::parse_bytes(Bytes(whole.begin(), whole.begin() + static_cast<long>(length))); },
                     {"test.gguf: "});
}

TEST(Gguf, OtherFilesAndVersionsAreRefused) {
    expect_error([] { GgufBuilder::parse_bytes(Bytes(100, std::byte{'x'})); }, {"magic", "not a GGUF file"});
    GgufBuilder builder;
    for (const std::uint32_t version : {0u, 1u, 4u, 77u}) {
        builder.version = version;
        expect_refused(builder, {"version", std::to_string(version)});
    }
    builder.version = 0x03000000;
    expect_refused(builder, {"version", "big-endian"});
}

TEST(Gguf, CountsPastTheFileAreRefusedBeforeRoomIsMade) {
    for (const std::uint64_t count : {std::uint64_t{50}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        GgufBuilder tensors, metadata, elements, length;
        tensors.tensor_count = count;
        expect_refused(tensors, {"tensor_count", std::to_string(count)});
        metadata.metadata_count = count;
        expect_refused(metadata, {"metadata_kv_count", std::to_string(count)});
        elements.start_array("many", 8, count);
        expect_refused(elements, {"'many'", std::to_string(count)});
        Bytes bytes;
        testing::append(bytes, count);
        length.start_pair("long", 8).raw(bytes);
        expect_refused(length, {"'long'", std::to_string(count)});
    }
}

TEST(Gguf, BadMetadataIsNamed) {
    expect_refused(GgufBuilder().set("twice", 1.0).set("twice", 2.0), {"'twice'", "given twice"});
    expect_refused(GgufBuilder().set("", 1.0), {"metadata key 0", "empty"});
    expect_refused(GgufBuilder().start_pair("odd", 13).raw(Bytes(8)), {"'odd'", "unknown value type 13"});
    expect_refused(GgufBuilder().start_array("nested", 9, 1).raw(Bytes(64)), {"'nested'", "arrays of arrays"});
    expect_refused(GgufBuilder().start_pair("flag", 7).raw(Bytes(1, std::byte{2})), {"'flag'", "2", "neither"});
    expect_refused(GgufBuilder().set("huge", ~std::uint64_t{0}), {"'huge'", "18446744073709551615", "63 bits"});
    for (const std::uint32_t alignment : {0u, 3u, 48u, 0x80000000u})
        expect_refused(GgufBuilder().set("general.alignment", alignment),
                       {"general.alignment", std::to_string(alignment)});
    expect_refused(GgufBuilder().set("general.alignment", "x"), {"general.alignment", "an integer"});
}

// A file of two tensors, the second of them changed.
GgufBuilder with_second(const std::function<void(testing::GgufRecord&)>& change) {
    GgufBuilder builder;
    builder.tensor("first", Tensor::arange(64, DType::F32));
    change(builder.tensor("second", Tensor::zeros({2, 256})));
    return builder;
}

TEST(Gguf, BadTensorsAreNamed) {
    using testing::GgufRecord;
    const auto refused = [](const std::function<void(GgufRecord&)>& change, std::initializer_list<std::string> parts) {
        expect_refused(with_second(change), parts);
    };
    ASSERT_NO_THROW(with_second([](GgufRecord&) {}).parse());
    refused([](GgufRecord& r) { r.name = "first"; }, {"'first'", "given twice"});
    refused([](GgufRecord& r) { r.name = ""; }, {"tensor name", "empty"});
    refused(
        [](GgufRecord& r) {
            r.name = "a\x1b[31m\n";
            r.offset = 3;
        },
        {"'a?[31m?'"});
    refused([](GgufRecord& r) { r.dimensions = {}; }, {"'second'", "found 0"});
    refused([](GgufRecord& r) { r.dimensions = {1, 1, 1, 1, 1}; }, {"'second'", "found 5"});
    refused([](GgufRecord& r) { r.dimensions = {0, 4}; }, {"'second'", "a dimension of 0"});
    refused([](GgufRecord& r) { r.dimensions = {std::uint64_t{1} << 63}; }, {"'second'", "9223372036854775808"});
    refused([](GgufRecord& r) { r.dimensions = {1u << 31, 1u << 31, 4}; }, {"'second'", "more elements"});
    refused([](GgufRecord& r) { r.dimensions = {std::uint64_t{1} << 62}; }, {"'second'", "more elements"});
    refused(
        [](GgufRecord& r) {
            r.type = 12;
            r.dimensions = {128, 4};
        },
        {"'second'", "rows of 128", "256", "q4_k"});
    refused([](GgufRecord& r) { r.offset = 260; }, {"'second'", "offset 260", "alignment 32"});
    refused([](GgufRecord& r) { r.offset = 128; }, {"'second'", "offset 128", "overlap", "'first'"});
    refused([](GgufRecord& r) { r.offset = 0; }, {"overlap"});
    refused([](GgufRecord& r) { r.offset = 512; }, {"'second'", "offset 512", "end of the file"});
    refused([](GgufRecord& r) { r.offset = ~std::uint64_t{31}; }, {"'second'", "end of the file"});
    refused([](GgufRecord& r) { r.dimensions = {1 << 20, 1 << 10}; }, {"'second'", "4294967296", "end of the file"});
}

// Settings and the tokenizer of such a file are still good.
TEST(Gguf, TensorsOfUnreadableTypesHaveAShapeAlone) {
    // (2, 256) of each: two blocks of 84 bytes, or nobody knows.
    const std::map<std::uint32_t, UnreadableTensor> types{
        {10, {"q2_k", 168}}, {4, {"number 4"}}, {40, {"nvfp4"}}, {99, {"number 99"}}};
    for (const auto& [type, expected] : types) {
        const formats::Gguf read = with_second([&](testing::GgufRecord& r) { r.type = type; }).parse();
        EXPECT_EQ(read.unreadable, (std::map<std::string, UnreadableTensor>{{"second", expected}}));
        EXPECT_EQ(read.tensor("second").shape(), (Shape{2, 256}));
        EXPECT_TRUE(read.tensor("second").is_deferred());
        EXPECT_FALSE(read.tensor("first").is_deferred());
    }
    expect_refused(with_second([](testing::GgufRecord& r) {
                       r.type = 10;
                       r.offset = 1 << 20;
                   }),
                   {"'second'", "end of the file"});
}

TEST(Gguf, ChangingAnyByteGivesAFileOrAnError) {
    GgufBuilder builder;
    builder.set("general.alignment", std::uint32_t{8}).set_array("list", std::vector<std::string>{"ab", "c"});
    builder.alignment = 8;
    builder.tensor("a", Tensor::arange(8, DType::F32));
    builder.tensor("b", Tensor::zeros({2, 32}).to(DType::Q5_1));
    const Bytes whole = builder.build();
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const int flip : {1, 0x80, 0xff}) {
            Bytes bytes = whole;
            bytes[i] ^= static_cast<std::byte>(flip);
            try {
                const formats::Gguf gguf = GgufBuilder::parse_bytes(bytes);
                for (const auto& [name, tensor] : gguf.tensors)
                    if (!gguf.unreadable.contains(name)) tensor.to_vector<float>();
            } catch (const Error& error) {
                EXPECT_TRUE(std::string(error.what()).starts_with("test.gguf: ")) << error.what();
            }
        }
}

GgufBuilder tokenizer_of_three() {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "spm")
        .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
    return builder;
}

TEST(GgufTokenizer, IsReadWhole) {
    GgufBuilder builder = tokenizer_of_three();
    builder.set("tokenizer.ggml.pre", "default").set("tokenizer.chat_template", "{{ x }}");
    builder.set_array("tokenizer.ggml.scores", std::vector<float>{0, -1, -2.5f});
    builder.set_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 1, 6});
    builder.set_array("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
    builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    builder.set("tokenizer.ggml.add_bos_token", true);
    const GgufTokenizer tokenizer = read_gguf_tokenizer(builder.parse());
    EXPECT_EQ(tokenizer.model, "spm");
    EXPECT_EQ(tokenizer.pre, "default");
    EXPECT_EQ(tokenizer.chat_template, "{{ x }}");
    EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"a", "b", "ab"}));
    EXPECT_EQ(tokenizer.scores, (std::vector<double>{0, -1, -2.5}));
    EXPECT_EQ(tokenizer.types, (std::vector<std::int64_t>{3, 1, 6}));
    EXPECT_EQ(tokenizer.merges, (std::vector<std::string>{"a b"}));
    EXPECT_EQ(tokenizer.bos, 1);
    EXPECT_EQ(tokenizer.eos, 2);
    EXPECT_FALSE(tokenizer.unknown.has_value());
    EXPECT_EQ(tokenizer.add_bos, true);
    EXPECT_FALSE(tokenizer.add_eos.has_value());
}

TEST(GgufTokenizer, WhatDoesNotFitIsNamed) {
    const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string> parts) {
        expect_error([&] { read_gguf_tokenizer(builder.parse()); }, parts);
    };
    refused(GgufBuilder(), {"test.gguf", "tokenizer.ggml.model", "missing"});
    refused(tokenizer_of_three().set("tokenizer.ggml.bos_token_id", std::uint32_t{3}), {"bos_token_id", "3"});
    refused(tokenizer_of_three().set_array("tokenizer.ggml.scores", std::vector<float>{1}),
            {"scores", "1", "3 tokens"});
    refused(tokenizer_of_three().set_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{1}), {"token_type"});
}

}  // namespace
}  // namespace tessera::formats
