// Any bytes as a safetensors file: either one Error, or tensors whose every byte can be read. The bytes are taken as a
// whole file and, since a changed header seldom keeps its length, also as header, zero byte, data.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tessera/formats/safetensors.h"

using namespace tessera;

namespace {

void read(std::string_view file) {
    // Of exactly this size, so that a read past the end is seen.
    const std::shared_ptr<std::byte[]> copy(new std::byte[file.size()]);
    if (!file.empty()) std::memcpy(copy.get(), file.data(), file.size());
    try {
        const formats::Safetensors read =
            formats::parse_safetensors({copy.get(), file.size()}, copy, "fuzz.safetensors");
        std::size_t total = 0;
        for (const auto& [name, tensor] : read.tensors) {
            const auto length = static_cast<std::size_t>(bytes_of(tensor.dtype(), tensor.elements()));
            const auto* start = static_cast<const volatile std::uint8_t*>(tensor.view().data);
            for (std::size_t i = 0; i < length; ++i) static_cast<void>(start[i]);
            total += length;
        }
        if (total > file.size()) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    read(input);
    const std::size_t zero = input.find('\0');
    if (zero == input.npos) return 0;
    const std::uint64_t header_bytes = zero;
    std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
    read(file.append(input.substr(0, zero)).append(input.substr(zero + 1)));
    return 0;
}
