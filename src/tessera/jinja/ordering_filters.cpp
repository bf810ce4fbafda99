// Filters that compare items with each other: sort, unique, min, max, dictsort, groupby. Texts are compared without
// regard to case unless asked.
#include <algorithm>
#include <map>
#include <numeric>

#include "tessera/jinja/access.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

Value without_case(Runtime& runtime, const Value& value, bool case_sensitive) {
    if (!value.is_text() || case_sensitive) return value;
    return find_text_method("lower")(runtime, value, {});
}

Value key_of(Runtime& runtime, const Value& value, const Value* path, bool case_sensitive) {
    const bool whole = !path || path->is_none();
    return without_case(runtime, whole ? value : item_at_path(runtime, value, *path), case_sensitive);
}

// Stable, and safe with an order that contradicts itself (NaN): insertion by binary search within merges.
std::vector<std::size_t> sorted_indices(Runtime& runtime, const std::vector<Value>& keys, bool reverse) {
    runtime.charge_items(keys.size());
    std::vector<std::size_t> order(keys.size()), merged(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
        return reverse ? less(runtime, keys[b], keys[a]) : less(runtime, keys[a], keys[b]);
    };
    for (std::size_t width = 1; width < keys.size(); width *= 2) {
        for (std::size_t begin = 0; begin < keys.size(); begin += 2 * width) {
            const std::size_t middle = std::min(begin + width, keys.size()),
                              end = std::min(begin + 2 * width, keys.size());
            std::size_t left = begin, right = middle;
            for (std::size_t out = begin; out < end; ++out) {
                const bool from_right = left == middle || (right < end && before(order[right], order[left]));
                merged[out] = from_right ? order[right++] : order[left++];
            }
        }
        order.swap(merged);
    }
    return order;
}

std::vector<Value> sorted(Runtime& runtime, const std::vector<Value>& items, const std::vector<Value>& keys,
                          bool reverse) {
    std::vector<Value> result;
    for (const std::size_t i : sorted_indices(runtime, keys, reverse)) result.push_back(items[i]);
    return result;
}

// "age,name" sorts by age, then by name.
Value sort_key(Runtime& runtime, const Value& value, const Value* paths, bool case_sensitive) {
    if (!paths || !paths->is_text() || paths->text().find(',') == std::string::npos)
        return key_of(runtime, value, paths, case_sensitive);
    std::vector<Value> parts;
    const std::string& text = paths->text();
    runtime.charge(static_cast<std::int64_t>(text.size()));
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const Value path(text.substr(at, end - at));
        parts.push_back(key_of(runtime, value, &path, case_sensitive));
        at = end + 1;
    }
    return runtime.tuple(std::move(parts));
}

Value filter_sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "sort", {"reverse", "case_sensitive", "attribute"});
    const std::vector<Value> items = items_of(runtime, input);
    std::vector<Value> keys;
    runtime.charge_items(items.size());
    for (const Value& element : items) keys.push_back(sort_key(runtime, element, given.find(2), given.truth(1, false)));
    return runtime.list(sorted(runtime, items, keys, given.truth(0, false)));
}

Value filter_dictsort(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "dictsort", {"case_sensitive", "by", "reverse"});
    check_defined(input);
    check(input.is_dictionary(), "dictsort: expected a dict, found ", input.type_name());
    const std::string_view by = given.text(1, "key");
    check(by == "key" || by == "value", "dictsort: you can only sort by either \"key\" or \"value\"");
    std::vector<Value> items, keys;
    for (const auto& [key, value] : input.dictionary().entries()) {
        items.push_back(runtime.tuple({key, value}));
        keys.push_back(without_case(runtime, by == "key" ? key : value, given.truth(0, false)));
    }
    return runtime.list(sorted(runtime, items, keys, given.truth(2, false)));
}

Value filter_unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "unique", {"case_sensitive", "attribute"});
    Dictionary seen;
    std::vector<Value> kept;
    for (const Value& element : items_of(runtime, input)) {
        runtime.step();
        const Value key = key_of(runtime, element, given.find(1), given.truth(0, false));
        if (seen.find(runtime, key)) continue;
        seen.set(runtime, key, None{});
        kept.push_back(element);
    }
    return runtime.iterator(std::move(kept));
}

Value extreme(Runtime& runtime, const Value& input, const Arguments& arguments, bool largest) {
    const BoundArguments given(arguments, largest ? "max" : "min", {"case_sensitive", "attribute"});
    const std::vector<Value> items = items_of(runtime, input);
    if (items.empty()) return runtime.undefined("No aggregated item, sequence was empty.");
    const Value* best = nullptr;
    Value best_key;
    for (const Value& element : items) {
        const Value key = key_of(runtime, element, given.find(1), given.truth(0, false));
        if (best && !(largest ? less(runtime, best_key, key, ">") : less(runtime, key, best_key))) continue;
        best = &element;
        best_key = key;
    }
    return *best;
}
Value filter_min(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return extreme(runtime, input, arguments, false);
}
Value filter_max(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return extreme(runtime, input, arguments, true);
}

Value filter_groupby(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1);
    const bool case_sensitive = given.truth(2, false);
    const std::vector<Value> items = items_of(runtime, input);
    std::vector<Value> names, keys;
    runtime.charge_items(2 * items.size());
    for (const Value& element : items) {
        const Value found = item_at_path(runtime, element, *given.find(0));
        names.push_back(found.is_undefined() && given.is_given(1) ? *given.find(1) : found);
        keys.push_back(without_case(runtime, names.back(), case_sensitive));
    }
    const std::vector<std::size_t> order = sorted_indices(runtime, keys, false);
    std::vector<Value> groups, group;
    for (std::size_t i = 0; i < order.size(); ++i) {
        group.push_back(items[order[i]]);
        if (i + 1 < order.size() && equal(runtime, keys[order[i]], keys[order[i + 1]])) continue;
        const std::size_t first = order[i + 1 - group.size()];
        groups.push_back(runtime.tuple({names[first], runtime.list(std::move(group))}));
        group.clear();
    }
    return runtime.list(std::move(groups));
}

}  // namespace

Filter find_ordering_filter(std::string_view name) {
    static const std::map<std::string_view, Filter> filters = {
        {"sort", filter_sort}, {"dictsort", filter_dictsort}, {"unique", filter_unique},
        {"min", filter_min},   {"max", filter_max},           {"groupby", filter_groupby},
    };
    const auto found = filters.find(name);
    return found == filters.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
