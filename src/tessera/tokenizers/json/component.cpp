#include "tessera/tokenizers/json/component.h"

#include "tessera/formats/byte_reader.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {

using formats::Json;

Component::Component(const Json& json, const std::string& source, const std::string& path)
    : source_(source), path_(path), settings_(json, source, path) {}

std::string Component::named(const char* name) const { return text_of(source_, ": ", path_, ".", name); }

void Component::unknown(const char* kind) const {
    fail(named("type"), ": no ", kind, " is known as ", formats::shown(type()));
}

std::vector<Component> Component::list(const char* name) const {
    const Json* items = settings_.json().find(name);
    check(items && items->is_array(), named(name), ": expected a list");
    std::vector<Component> found;
    for (std::size_t i = 0; i < items->items().size(); ++i)
        found.emplace_back(items->items()[i], source_, text_of(path_, ".", name, "[", i, "]"));
    return found;
}

char32_t Component::character(const char* name, char32_t fallback) const {
    if (!settings_.has(name)) return fallback;
    const std::string text = settings_.text(name);
    check(!text.empty() && text::character_length(text[0]) == text.size(), named(name),
          ": expected one character, found ", formats::shown(text));
    return text::character_at(text.data());
}

namespace {

std::size_t count_stages(const Json& component, const std::string& named, int depth) {
    check(depth <= limits::deepest_sequence, named, ": sequences nested deeper than ", limits::deepest_sequence);
    for (const char* list : {"single", "pair"}) {
        const Json* items = component.is_object() ? component.find(list) : nullptr;
        check(!items || !items->is_array() || items->items().size() <= limits::most_template_items, named, ".", list,
              ": more than ", limits::most_template_items, " items");
    }
    std::size_t stages = 1;
    for (const char* list : {"normalizers", "pretokenizers", "processors", "decoders"}) {
        const Json* parts = component.is_object() ? component.find(list) : nullptr;
        if (!parts || !parts->is_array()) continue;
        for (const Json& part : parts->items()) {
            stages += count_stages(part, named, depth + 1);
            check(stages <= limits::most_stages, named, ": more than ", limits::most_stages, " stages");
        }
    }
    return stages;
}

}  // namespace

void check_stages(const Json& component, const std::string& named) { count_stages(component, named, 0); }

std::unique_ptr<Splitter> Component::pattern(const char* name) const {
    const formats::Config pattern = settings_.section(name);
    if (pattern.has("String")) return literal_splitter(pattern.text("String"));
    return pattern_splitter(pattern.text("Regex"), named(name));
}

}  // namespace tessera::tokenizers
