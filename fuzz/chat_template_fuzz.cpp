// Any template over any values (a line of JSON, then the template): either one Error, or a text within the limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "tokenizers/chat_template.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const std::size_t line = input.find('\n');
    if (line == std::string_view::npos) return 0;
    tokenizers::RenderOptions options;
    options.now = std::tm{};
    options.limits.steps = 100'000;
    options.limits.bytes = 16 << 20;
    options.limits.output = 1 << 20;
    try {
        const tokenizers::ChatTemplate chat(std::string(input.substr(line + 1)), "fuzz");
        const std::string text = chat.render(formats::Json::parse(input.substr(0, line), "values"), options);
        if (text.size() > (1u << 20)) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
