#include "support/goldens.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera::testing {
namespace {

std::vector<char> read_bytes(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    check(stream.good(), "golden ", path, ": cannot be opened");
    return {std::istreambuf_iterator<char>(stream), {}};
}

DType dtype_of_tag(const std::string& tag, const std::string& path) {
    static const std::map<std::string, DType> tags = {{"F64", DType::F64},   {"F32", DType::F32}, {"BF16", DType::BF16},
                                                      {"F16", DType::F16},   {"I64", DType::I64}, {"I32", DType::I32},
                                                      {"BOOL", DType::Bool}, {"U8", DType::U8}};
    const auto found = tags.find(tag);
    check(found != tags.end(), "golden ", path, ": dtype ", tag, " is not known");
    return found->second;
}

}  // namespace

// A program that was carried to another machine is told where the tree is.
std::string source_path(const std::string& file) {
    const char* given = std::getenv("TESSERA_SOURCE_DIR");
    return std::string(given ? given : TESSERA_SOURCE_DIR) + "/" + file;
}

std::string golden_path(const std::string& file) { return source_path("tests/goldens/" + file); }

Golden::Golden(const std::string& file) : file_(file) {
    const std::string path = golden_path(file);
    const std::vector<char> bytes = read_bytes(path);
    std::uint64_t header_bytes = 0;
    check(bytes.size() >= 8, "golden ", path, ": too short");
    std::memcpy(&header_bytes, bytes.data(), 8);
    check(header_bytes <= bytes.size() - 8, "golden ", path, ": header past the end");
    const char* data = bytes.data() + 8 + header_bytes;
    const std::size_t data_bytes = bytes.size() - 8 - header_bytes;
    const nlohmann::json header = nlohmann::json::parse(bytes.data() + 8, data);
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            metadata_ = entry.get<std::map<std::string, std::string>>();
            continue;
        }
        Shape shape;
        for (const std::int64_t dim : entry["shape"]) shape.push_back(dim);
        const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
        const Tensor tensor = Tensor::empty(shape, dtype_of_tag(entry["dtype"], path));
        check(begin <= end && end <= data_bytes && end - begin == tensor.storage()->bytes(), "golden ", path, ": ",
              name, " has a wrong byte range");
        std::memcpy(tensor.storage()->data(), data + begin, end - begin);
        tensors_[name] = tensor;
    }
}

const Tensor& Golden::operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    check(found != tensors_.end(), "golden ", file_, " has no tensor ", name);
    return found->second;
}

}  // namespace tessera::testing
