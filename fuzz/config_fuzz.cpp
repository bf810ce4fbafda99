// Any bytes as a config.json: either one Error, or a model without memory that can be counted and drawn. Without
// kernels a family that computes a table while it is built ends there, after all checks. Changed bytes seldom leave a
// configuration, so that half of the inputs have one field changed instead.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tessera/models/catalog.h"
#include "tessera/models/summary.h"

using namespace tessera;
using formats::Json;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t most);

namespace {

Json parse(const std::uint8_t* bytes, std::size_t size) {
    return Json::parse({reinterpret_cast<const char*>(bytes), size}, "fuzz.json");
}

Json hostile_value(std::minstd_rand& random, const Json& old) {
    constexpr std::int64_t numbers[] = {-1, 0, 1, 2, 3, 7, 64, 512, 4097, 1 << 24, INT32_MAX, INT64_MAX, INT64_MIN};
    const Json others[] = {1e300, 1e-300, -0.5, 0.25, 1e38, Json(), true, false, "", Json::array(), Json::object()};
    const bool is_integer = random() % 3 > 0;
    if (old.is_array() && random() % 2 > 0) {
        Json list = old;
        return list.push_back(old.items().empty() ? Json(1) : old.items().front());
    }
    return is_integer ? Json(numbers[random() % std::size(numbers)]) : others[random() % std::size(others)];
}

Json with_one_change(std::minstd_rand& random, const Json& config) {
    if (config.members().empty()) return config;
    const auto& [name, value] = config.members()[random() % config.members().size()];
    const bool goes_inside = value.is_object() && !value.members().empty() && random() % 8 > 0;
    Json changed = config;
    return changed.set(name, goes_inside ? with_one_change(random, value) : hostile_value(random, value));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t most, unsigned seed) {
    std::minstd_rand random(seed);
    if (random() % 2 > 0) return LLVMFuzzerMutate(bytes, size, most);
    try {
        const std::string text = with_one_change(random, parse(bytes, size)).dump(0);
        if (text.size() > most) return size;
        std::memcpy(bytes, text.data(), text.size());
        return text.size();
    } catch (const Error&) {
        return LLVMFuzzerMutate(bytes, size, most);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    try {
        const std::unique_ptr<models::Model> model = models::build(formats::Config(parse(bytes, size), "fuzz.json"));
        if (models::summarise(*model).parameters < 1) std::abort();
        models::draw_blocks(*model);
        if (nn::parameters(*model).size() > 2000) return 0;  // names take long where each comparison is traced
        models::load_weights(*model, model->weights, {}, "fuzz");
        std::abort();  // nothing is there to load
    } catch (const Error&) {
    }
    return 0;
}
