// Any bytes as JSON and as a config: either one Error, or a value that reads back the same from its own text and whose
// fields every getter takes or refuses.
#include <cstdint>
#include <cstdlib>

#include "tessera/formats/config.h"

using namespace tessera;
using formats::Config;
using formats::Json;

namespace {

template <class Get>
void try_to(const Get& get) {
    try {
        get();
    } catch (const Error&) {
    }
}

void read_fields(const Config& config) {
    for (const auto& [name, value] : config.json().members()) {
        const std::string& field = name;
        try_to([&] { config.integer(field); });
        try_to([&] {
            if (config.positive(field, 1) < 1) std::abort();
        });
        try_to([&] { config.number(field, 0.5); });
        try_to([&] { config.boolean(field, false); });
        try_to([&] { config.text(field, ""); });
        try_to([&] { config.integers(field); });
        try_to([&] { config.numbers(field); });
        try_to([&] { config.texts(field); });
        try_to([&] { read_fields(config.section_or_empty(field)); });
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    try {
        const Json json = Json::parse({reinterpret_cast<const char*>(bytes), size}, "fuzz.json");
        const std::string text = json.dump(size % 4);
        const Json again = Json::parse(text, "dump", {.bytes = text.size()});
        if (!(again == json) || again.dump(size % 4) != text) std::abort();
        read_fields(Config(json, "fuzz.json"));
    } catch (const Error&) {
    }
    return 0;
}
