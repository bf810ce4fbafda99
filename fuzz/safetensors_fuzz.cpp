// Any bytes as a safetensors file: either one Error, or tensors whose every byte can be read.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "formats/safetensors.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    // Of exactly this size, so that a read past the end is seen.
    const std::shared_ptr<std::byte[]> copy(new std::byte[size]);
    if (size > 0) std::memcpy(copy.get(), bytes, size);
    try {
        const formats::Safetensors file = formats::parse_safetensors({copy.get(), size}, copy, "fuzz.safetensors");
        std::size_t total = 0;
        for (const auto& [name, tensor] : file.tensors) {
            const auto length = static_cast<std::size_t>(bytes_of(tensor.dtype(), tensor.elements()));
            const auto* start = static_cast<const volatile std::uint8_t*>(tensor.view().data);
            for (std::size_t i = 0; i < length; ++i) static_cast<void>(start[i]);
            total += length;
        }
        if (total > size) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
