// Any bytes are a GGUF file or one Error; what was read can be used, and becomes a model or one Error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/formats/gguf.h"
#include "tessera/formats/gguf_tokenizer.h"
#include "tessera/models/catalog.h"
#include "tessera/models/import/gguf_checkpoint.h"

namespace {

// Every byte of a tensor is there, and every block of bits decodes.
void decode(const tessera::Tensor& tensor) {
    const tessera::View view = tensor.view();
    const tessera::DTypeInfo& facts = tessera::info(view.dtype);
    std::vector<float> values(static_cast<std::size_t>(view.elements()));
    if (facts.codec != nullptr)
        facts.codec->decode(view.data, values.data(), view.elements() / facts.block_elements);
    else
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] =
                static_cast<float>(view.as<std::uint8_t>()[(i + 1) * static_cast<std::size_t>(facts.block_bytes) - 1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    const auto file = std::make_shared<std::vector<std::byte>>(begin, begin + size);
    try {
        const formats::Gguf gguf = formats::parse_gguf(*file, file, "input");
        for (const auto& [name, tensor] : gguf.tensors)
            if (!gguf.unreadable.contains(name)) decode(tensor);
        formats::read_gguf_tokenizer(gguf);
        models::load(models::gguf_checkpoint(gguf));
    } catch (const Error&) {
    }
    return 0;
}
