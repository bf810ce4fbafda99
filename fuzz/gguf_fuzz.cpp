// Any bytes are a GGUF file or one Error; what was read can be used.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    const auto file = std::make_shared<std::vector<std::byte>>(begin, begin + size);
    try {
        const formats::Gguf gguf = formats::parse_gguf(*file, file, "input");
        for (const auto& [name, tensor] : gguf.tensors) tensor.to_vector<float>();
        formats::read_gguf_tokenizer(gguf);
    } catch (const Error&) {
    }
    return 0;
}
