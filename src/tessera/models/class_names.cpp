#include "tessera/models/class_names.h"

#include "tessera/models/settings.h"

namespace tessera::models {

std::int64_t read_class_count(const Config& config) {
    if (!config.has("id2label")) return read_size(config, "num_labels", 2);
    const auto count = static_cast<std::int64_t>(config.section("id2label").json().members().size());
    if (count == 0) config.reject("id2label", "names no class");
    if (config.integer("num_labels", count) != count)
        config.reject("num_labels", text_of("id2label names ", count, " classes"));
    return count;
}

std::vector<std::string> read_class_names(const Config& config, std::int64_t count) {
    const Config names = config.section_or_empty("id2label");
    std::vector<std::string> list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(names.text(std::to_string(i), text_of("LABEL_", i)));
    return list;
}

bool is_class_number(const std::string& name) {
    return !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == name.npos;
}

}  // namespace tessera::models
