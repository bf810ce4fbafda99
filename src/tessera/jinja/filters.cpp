#include "tessera/jinja/filters.h"

#include "tessera/jinja/runtime.h"

namespace tessera::jinja {

Filter find_filter(std::string_view name) {
    if (name == "tojson") return tojson;
    for (const auto find :
         {find_text_filter, find_number_filter, find_sequence_filter, find_choosing_filter, find_ordering_filter})
        if (const Filter filter = find(name)) return filter;
    return nullptr;
}

Value apply_filter(Runtime& runtime, Filter filter, const Value& input, const Arguments& arguments) {
    const Level level(runtime);
    runtime.step();
    return filter(runtime, input, arguments);
}

}  // namespace tessera::jinja
