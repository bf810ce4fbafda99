#include "tessera/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "formats/safetensors_file.h"
#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

Tensor numbered(DType dtype, Shape shape) {
    const Tensor out = Tensor::empty(shape, dtype);
    auto* bytes = static_cast<std::uint8_t*>(out.storage()->data());
    for (std::size_t i = 0; i < out.storage()->bytes(); ++i)
        bytes[i] = static_cast<std::uint8_t>(dtype == DType::Bool ? i % 2 : i * 37 + 11);
    return out;
}

void expect_same_bits(const Tensor& actual, const Tensor& expected) {
    EXPECT_EQ(actual.dtype(), expected.dtype());
    EXPECT_EQ(actual.shape(), expected.shape());
    const auto bytes = static_cast<std::size_t>(bytes_of(expected.dtype(), expected.elements()));
    EXPECT_EQ(std::memcmp(actual.view().data, expected.view().data, bytes), 0);
}

NamedTensors one_of_each() {
    NamedTensors tensors;
    for (const DType dtype :
         {DType::U8, DType::F64, DType::BF16, DType::Bool, DType::F32, DType::I64, DType::F16, DType::I32})
        tensors.emplace_back(text_of("of ", dtype), numbered(dtype, {3, 5}));
    tensors.emplace_back("scalar", numbered(DType::F32, {}));
    tensors.emplace_back("empty", numbered(DType::F32, {0, 4}));
    tensors.emplace_back("", numbered(DType::U8, {1, 1, 1, 1, 1, 1, 1, 3}));
    return tensors;
}

TEST(Safetensors, EveryDtypeComesBackToTheBit) {
    const TemporaryFolder folder;
    const NamedTensors tensors = one_of_each();
    write_safetensors(folder / "a.safetensors", tensors, {{"format", "pt"}, {"note", "\"quoted\"\n"}});
    const Safetensors back = read_safetensors(folder / "a.safetensors");
    EXPECT_EQ(back.metadata, (Metadata{{"format", "pt"}, {"note", "\"quoted\"\n"}}));
    ASSERT_EQ(back.tensors.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) expect_same_bits(back.tensors.at(name), tensor);
}

TEST(Safetensors, TheSameTensorsGiveTheSameFile) {
    const TemporaryFolder folder;
    NamedTensors tensors = one_of_each();
    write_safetensors(folder / "a", tensors, {{"format", "pt"}});
    std::reverse(tensors.begin(), tensors.end());
    write_safetensors(folder / "b", tensors, {{"format", "pt"}});
    EXPECT_EQ(folder.read("a"), folder.read("b"));
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, folder.read("a").data(), 8);
    EXPECT_EQ((8 + header_bytes) % 64, 0u);
}

TEST(Safetensors, ReadsTheReferencesFilesAsTheTestsOwnReaderDoes) {
    for (const std::string file : {"gpt2/model.safetensors", "gpt2/expected.safetensors"}) {
        const Safetensors read = read_safetensors(testing::golden_path(file));
        const testing::Golden golden(file);
        EXPECT_EQ(read.metadata, golden.metadata());
        ASSERT_EQ(read.tensors.size(), golden.tensors().size());
        for (const auto& [name, tensor] : golden.tensors()) expect_same_bits(read.tensors.at(name), tensor);
    }
}

TEST(Safetensors, TensorsLieOverTheFile) {
    const TemporaryFolder folder;
    write_safetensors(folder / "a", {{"x", numbered(DType::F32, {4})}, {"y", numbered(DType::F32, {4})}});
    const Safetensors read = read_safetensors(folder / "a");
    const Tensor &x = read.tensors.at("x"), &y = read.tensors.at("y");
    EXPECT_EQ(static_cast<std::byte*>(x.view().data) + 16, static_cast<std::byte*>(y.view().data));
    EXPECT_EQ(x.storage()->bytes(), 16u);
    const std::string before = folder.read("a");
    x.fill(1);  // a copy of the page, never the file
    EXPECT_EQ(folder.read("a"), before);
}

TEST(Safetensors, DataAtAnyAddressAreRead) {
    const std::string data("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d", 13);
    for (std::size_t padding = 0; padding < 8; ++padding) {
        std::string header = R"({"u": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "f": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]},
            "i": {"dtype": "I64", "shape": [1], "data_offsets": [5, 13]}})";
        header.append(padding, ' ');
        const Safetensors read = testing::parse_safetensors(testing::safetensors_file(header, 0) + data);
        EXPECT_EQ(read.tensors.at("i").data<std::int64_t>()[0], 0x0d0c0b0a09080706);
        EXPECT_EQ(std::memcmp(read.tensors.at("f").data<float>(), data.data() + 1, 4), 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.tensors.at("f").view().data) % 4, 0u);
    }
}

TEST(Safetensors, StridedTensorsAreWrittenDense) {
    const TemporaryFolder folder;
    const Tensor x = numbered(DType::I32, {3, 4});
    const Tensor transposed = x.with_layout({4, 3}, {1, 4}, 0), row = x.with_layout({4}, {1}, 4);
    const Tensor repeated = x.with_layout({2, 4}, {0, 1}, 0);
    write_safetensors(folder / "a", {{"transposed", transposed}, {"row", row}, {"repeated", repeated}});
    const Safetensors read = read_safetensors(folder / "a");
    expect_same_bits(read.tensors.at("transposed"), transposed.clone());
    expect_same_bits(read.tensors.at("row"), row.clone());
    expect_same_bits(read.tensors.at("repeated"), repeated.clone());
}

TEST(Safetensors, AFileMayBeWrittenOverItself) {
    const TemporaryFolder folder;
    const Tensor x = numbered(DType::F32, {1000});
    write_safetensors(folder / "a", {{"x", x}});
    const Safetensors read = read_safetensors(folder / "a");
    write_safetensors(folder / "a", {{"longer name", read.tensors.at("x")}, {"x", read.tensors.at("x")}});
    expect_same_bits(read.tensors.at("x"), x);
    expect_same_bits(read_safetensors(folder / "a").tensors.at("longer name"), x);
}

TEST(Safetensors, WhatCannotBeWrittenIsRefusedBeforeAnythingIs) {
    const TemporaryFolder folder;
    const fs::path path = folder / "a";
    const Tensor x = numbered(DType::F32, {2});
    const auto expect_refused = [&](const NamedTensors& tensors, std::initializer_list<std::string> parts) {
        expect_error([&] { write_safetensors(path, tensors); }, {path.string()});
        expect_error([&] { write_safetensors(path, tensors); }, parts);
        EXPECT_TRUE(fs::is_empty(folder.path()));
    };
    expect_refused({{"x", x}, {"x", x}}, {"\"x\"", "twice"});
    expect_refused({{"x", Tensor()}}, {"\"x\"", "no values"});
    expect_refused({{"x", Tensor::deferred({4})}}, {"\"x\"", "no values"});
    expect_refused({{"__metadata__", x}}, {"__metadata__"});
    expect_refused({{"q", Tensor::empty({32}, DType::Q8_0)}}, {"\"q\"", "q8_0"});
}

}  // namespace
}  // namespace tessera::formats
