#include "tessera/models/context_length.h"

#include <algorithm>

namespace tessera::models {
namespace {

// Factors come from strangers; beyond this a text ends for other reasons.
constexpr std::int64_t longest = std::int64_t{1} << 40;

std::int64_t times(std::int64_t length, double factor) {
    const double product = static_cast<double>(length) * factor;
    return product < static_cast<double>(longest) ? static_cast<std::int64_t>(product) : longest;
}

}  // namespace

// As the field reads these files: linear and dynamic stretch max_position_embeddings by their factor, yarn stretches
// the length it was trained on, llama3 and longrope (once called su) have been counted already. Yarn's writers do not
// agree whether max_position_embeddings is the length before or after (DeepSeek: after, Qwen: before), so the longer of
// both readings holds.
std::int64_t read_context_length(const Config& config, std::int64_t fallback, Stretch stretch) {
    const std::int64_t stated = std::min(config.positive("max_position_embeddings", fallback), longest);
    const Config rope = config.section_or_empty(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
    const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
    if (stated == 0 || stretch == Stretch::Counted || !rope.has("factor")) return stated;
    const double factor = rope.number("factor");
    if (type == "linear" || type == "dynamic") return std::max(stated, times(stated, factor));
    if (type != "yarn") return stated;
    const Config& original = rope.has("original_max_position_embeddings") ? rope : config;
    return std::max(stated, times(original.positive("original_max_position_embeddings", stated), factor));
}

}  // namespace tessera::models
