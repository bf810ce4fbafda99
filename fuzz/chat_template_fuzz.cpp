// Any bytes as a template over any values (a line of JSON, then the template).
#include <string_view>

#include "rendering.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const std::size_t line = input.find('\n');
    if (line == std::string_view::npos) return 0;
    try {
        const auto values = tessera::formats::Json::parse(input.substr(0, line), "values");
        if (values.is_object()) check_rendering(std::string(input.substr(line + 1)), values);
    } catch (const tessera::Error&) {
    }
    return 0;
}
