// Filters that apply a filter or a test to every item: map, select, reject, selectattr, rejectattr.
#include <optional>

#include "tessera/jinja/access.h"
#include "tessera/jinja/brief.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/predicates.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

// The arguments after the first `count`.
Arguments rest_of(const Arguments& arguments, std::size_t count) {
    return {{arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end()},
            arguments.named};
}

Value map_attribute(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Value* path = nullptr;
    const Value* fallback = nullptr;
    for (const auto& [name, value] : arguments.named) {
        check(name == "attribute" || name == "default", "map: unexpected keyword argument '", brief(name), "'");
        (name == "attribute" ? path : fallback) = &value;
    }
    std::vector<Value> results;
    for (const Value& element : items_of(runtime, input))
        results.push_back(item_at_path(runtime, element, *path, fallback));
    return runtime.iterator(std::move(results));
}

Value filter_map(Runtime& runtime, const Value& input, const Arguments& arguments) {
    if (!input.truth()) return runtime.iterator({});
    bool by_attribute = false;
    for (const auto& [name, value] : arguments.named) by_attribute = by_attribute || name == "attribute";
    if (arguments.positional.empty() && by_attribute) return map_attribute(runtime, input, arguments);
    check(!arguments.positional.empty() && arguments.positional[0].is_text(), "map: requires a filter argument");
    const std::string& name = arguments.positional[0].text();
    const Filter filter = find_filter(name);
    check(filter != nullptr, "no filter named '", brief(name), "'");
    runtime.charge_items(arguments.positional.size() + 2 * arguments.named.size());
    const Arguments rest = rest_of(arguments, 1);
    std::vector<Value> results;
    for (const Value& element : items_of(runtime, input))
        results.push_back(apply_filter(runtime, filter, element, rest));
    return runtime.iterator(std::move(results));
}

Value choose(Runtime& runtime, const Value& input, const Arguments& arguments, bool by_attribute, bool wanted) {
    if (!input.truth()) return runtime.iterator({});
    const std::size_t skipped = by_attribute ? 1 : 0;
    check(arguments.positional.size() >= skipped, "selectattr: missing parameter for attribute name");
    Predicate predicate = nullptr;
    Arguments rest;
    if (arguments.positional.size() > skipped) {
        const Value& name = arguments.positional[skipped];
        check(name.is_text(), "select: a test's name is a text, found ", name.type_name());
        predicate = find_predicate(name.text());
        check(predicate != nullptr, "no test named '", brief(name.text()), "'");
        runtime.charge_items(arguments.positional.size() + 2 * arguments.named.size());
        rest = rest_of(arguments, skipped + 1);
    }
    std::vector<Value> chosen;
    for (const Value& element : items_of(runtime, input)) {
        runtime.step();
        const Value tested = by_attribute ? item_at_path(runtime, element, arguments.positional[0]) : element;
        if ((predicate ? predicate(runtime, tested, rest) : tested.truth()) == wanted) chosen.push_back(element);
    }
    return runtime.iterator(std::move(chosen));
}

Value filter_select(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return choose(runtime, input, arguments, false, true);
}
Value filter_reject(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return choose(runtime, input, arguments, false, false);
}
Value filter_selectattr(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return choose(runtime, input, arguments, true, true);
}
Value filter_rejectattr(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return choose(runtime, input, arguments, true, false);
}

}  // namespace

Filter find_choosing_filter(std::string_view name) {
    if (name == "map") return filter_map;
    if (name == "select") return filter_select;
    if (name == "reject") return filter_reject;
    if (name == "selectattr") return filter_selectattr;
    if (name == "rejectattr") return filter_rejectattr;
    return nullptr;
}

}  // namespace tessera::jinja
