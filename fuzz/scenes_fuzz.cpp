// Any bytes as the file of a scene set: either one Error, or settings within their limits.
#include <cstdint>
#include <cstdlib>

#include "tessera/scenes/scene_settings.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    try {
        const auto json = formats::Json::parse({reinterpret_cast<const char*>(bytes), size}, "fuzz.scenes.json");
        const scenes::SceneSettings settings = scenes::read_scene_settings(formats::Config(json, "fuzz.scenes.json"));
        std::int64_t weights = 0;
        for (const std::int64_t weight : settings.weights) weights += weight;
        const bool shows_things = settings.shapes || !settings.objects.empty();
        if (settings.size < 1 || settings.size > 1024 || settings.images < 1 || weights < 1 || !shows_things)
            std::abort();
    } catch (const Error&) {
    }
    return 0;
}
