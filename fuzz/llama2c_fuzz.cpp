// Any bytes are a file of llama2.c, a tokenizer of it, or one Error each. Without kernels a file that fits ends where
// rows would be copied, after all checks.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/models/import/llama2c_checkpoint.h"
#include "tessera/models/import/llama2c_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    const auto file = std::make_shared<std::vector<std::byte>>(begin, begin + size);
    try {
        for (const auto& [name, tensor] : models::parse_llama2c(*file, file, "input").tensors)
            tensor.to_vector<float>();
    } catch (const Error&) {
    }
    try {
        models::parse_llama2c_tokenizer(*file, "input");
    } catch (const Error&) {
    }
    return 0;
}
