// The state of a running `for`: what `loop` shows. Items are pulled one at a time, because the loop's own filter
// (`for x in y if test`) may depend on what the body did; asking for the last or the length looks ahead.
#pragma once

#include <functional>
#include <optional>

#include "tessera/jinja/value.h"

namespace tessera::jinja {

struct Loop {
    std::function<bool(Value&)> pull = {};  // empty once the loop has ended
    std::function<Value(Runtime&, const Value&)> recurse = {};
    std::optional<std::int64_t> length = {};
    Value previous = {}, current = {};
    std::vector<Value> ahead = {};  // pulled already, the next one first
    std::size_t ahead_used = 0;
    std::int64_t index0 = -1;
    std::int64_t depth0 = 0;
    std::optional<std::vector<Value>> last_changed = {};

    bool advance();        // to the next item
    const Value* peek();   // the next item, null at the end
    std::int64_t count();  // of all items
    void end();            // no item is pulled any more
};

Value loop_attribute(Runtime& runtime, const std::shared_ptr<Loop>& loop, std::string_view name);
Value call_loop(Runtime& runtime, const std::shared_ptr<Loop>& loop, const Arguments& arguments);  // recursion

}  // namespace tessera::jinja
