// Filters of sequences and dictionaries: length, first, join, list, batch, …
#include <algorithm>
#include <map>

#include "tessera/jinja/access.h"
#include "tessera/jinja/brief.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

Value filter_length(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "length", {});
    return Value(size_of(runtime, input));
}

Value filter_default(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "default", {"default_value", "boolean"});
    const bool missing = input.is_undefined() || (given.truth(1, false) && !input.truth());
    if (!missing) return input;
    return given.find(0) ? *given.find(0) : runtime.text(std::string_view());
}

Value filter_first(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "first", {});
    const std::vector<Value> items = items_of(runtime, input);
    return items.empty() ? runtime.undefined("No first item, sequence was empty.") : items.front();
}

Value filter_last(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "last", {});
    check(!input.is_sequence(SequenceKind::Iterator), "last: an iterator is not reversible; make it a list with |list");
    const std::vector<Value> items = items_of(runtime, input);
    return items.empty() ? runtime.undefined("No last item, sequence was empty.") : items.back();
}

Value filter_list(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "list", {});
    return runtime.list(items_of(runtime, input));
}

Value filter_reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "reverse", {});
    if (input.is_text()) return slice(runtime, input, None{}, None{}, Value(std::int64_t{-1}));
    std::vector<Value> items = items_of(runtime, input);
    std::reverse(items.begin(), items.end());
    return input.is_sequence(SequenceKind::Iterator) ? runtime.list(std::move(items))
                                                     : runtime.iterator(std::move(items));
}

Value filter_join(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "join", {"d", "attribute"});
    TextBuilder joined(runtime);
    const Value separator = given.find(0) ? str(runtime, *given.find(0)) : runtime.text(std::string_view());
    bool first = true;
    for (const Value& part : items_of(runtime, input)) {
        runtime.scan(64);
        if (!first) joined.append(separator.text());
        first = false;
        append_str(joined, given.is_given(1) ? item_at_path(runtime, part, *given.find(1)) : part);
    }
    return joined.value();
}

Value filter_items(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "items", {});
    if (input.is_undefined()) return runtime.iterator({});
    check(input.is_dictionary(), "items: can only get item pairs from a mapping, found ", input.type_name());
    return runtime.iterator(items_of(runtime, find_dictionary_method("items")(runtime, input, {})));
}

Value filter_sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "sum", {"attribute", "start"});
    Value total = given.value(1, Value(std::int64_t{0}));
    check(!total.is_text(), "sum: can't sum strings [use ''.join(seq) instead]");
    for (const Value& part : items_of(runtime, input))
        total = apply(runtime, Operator::Add, total,
                      given.is_given(0) ? item_at_path(runtime, part, *given.find(0)) : part);
    return total;
}

Value filter_batch(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "batch", {"linecount", "fill_with"}, 1);
    const std::int64_t count = given.whole(0, 1);
    std::vector<Value> rows, row;
    for (const Value& part : items_of(runtime, input)) {
        if (static_cast<std::int64_t>(row.size()) == count) {
            rows.push_back(runtime.list(std::move(row)));
            row.clear();
        }
        row.push_back(part);
    }
    if (!row.empty()) {
        const auto size = static_cast<std::int64_t>(row.size());
        if (given.is_given(1) && count > size) {
            check(count - size < most_range, "batch: a row of ", count, " is too long");
            runtime.charge_items(static_cast<std::size_t>(count - size));
            row.resize(static_cast<std::size_t>(count), *given.find(1));
        }
        rows.push_back(runtime.list(std::move(row)));
    }
    return runtime.iterator(std::move(rows));
}

Value filter_slice(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "slice", {"slices", "fill_with"}, 1);
    const std::int64_t slices = given.whole(0, 1);
    check(slices > 0 && slices <= most_range, "slice: expected 1 to ", most_range, " slices, found ", slices);
    const std::vector<Value> items = items_of(runtime, input);
    const std::int64_t size = static_cast<std::int64_t>(items.size()), each = size / slices, longer = size % slices;
    std::vector<Value> columns;
    for (std::int64_t i = 0, begin = 0; i < slices; ++i) {
        const std::int64_t end = begin + each + (i < longer);
        std::vector<Value> column(items.begin() + begin, items.begin() + end);
        if (given.is_given(1) && i >= longer) column.push_back(*given.find(1));
        columns.push_back(runtime.list(std::move(column)));
        begin = end;
    }
    return runtime.iterator(std::move(columns));
}

// A value's own attribute, never an item.
Value filter_attr(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "attr", {"name"}, 1);
    const std::string_view name = given.text(0);
    check_defined(input);
    const bool own = input.is_namespace() || input.is_loop() || find_method(input, name) != nullptr;
    if (!own)
        return runtime.undefined(text_of("'", input.type_name(), " object' has no attribute '", brief(name), "'"));
    return attribute(runtime, input, name);
}

}  // namespace

Filter find_sequence_filter(std::string_view name) {
    static const std::map<std::string_view, Filter> filters = {
        {"length", filter_length}, {"count", filter_length},    {"default", filter_default}, {"d", filter_default},
        {"first", filter_first},   {"last", filter_last},       {"list", filter_list},       {"join", filter_join},
        {"items", filter_items},   {"reverse", filter_reverse}, {"sum", filter_sum},         {"batch", filter_batch},
        {"slice", filter_slice},   {"attr", filter_attr},
    };
    const auto found = filters.find(name);
    return found == filters.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
