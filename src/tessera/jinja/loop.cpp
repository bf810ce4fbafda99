#include "tessera/jinja/loop.h"

#include "tessera/jinja/brief.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {

bool Loop::advance() {
    Value next;
    if (ahead_used < ahead.size())
        next = ahead[ahead_used++];
    else if (!pull || !pull(next))
        return false;
    if (index0 >= 0) previous = current;
    current = std::move(next);
    ++index0;
    return true;
}

const Value* Loop::peek() {
    if (ahead_used == ahead.size()) {
        Value next;
        if (!pull || !pull(next)) return nullptr;
        ahead.clear();
        ahead_used = 0;
        ahead.push_back(std::move(next));
    }
    return &ahead[ahead_used];
}

std::int64_t Loop::count() {
    if (!length) {
        Value next;
        while (pull && pull(next)) ahead.push_back(std::move(next));
        length = index0 + 1 + static_cast<std::int64_t>(ahead.size() - ahead_used);
    }
    return *length;
}

void Loop::end() {
    pull = nullptr;
    recurse = nullptr;
    last_changed.reset();
}

namespace {

Value cycle(const std::shared_ptr<Loop>& loop, const Arguments& arguments) {
    check(!arguments.positional.empty(), "loop.cycle: no items for cycling given");
    return arguments.positional[static_cast<std::size_t>(loop->index0) % arguments.positional.size()];
}

Value changed(Runtime& runtime, const std::shared_ptr<Loop>& loop, const Arguments& arguments) {
    bool same = loop->last_changed && loop->last_changed->size() == arguments.positional.size();
    for (std::size_t i = 0; same && i < arguments.positional.size(); ++i)
        same = equal(runtime, (*loop->last_changed)[i], arguments.positional[i]);
    runtime.charge_items(arguments.positional.size());
    // A loop that has ended remembers nothing, so that it can hold nothing that holds it.
    if (!same && loop->pull) loop->last_changed = arguments.positional;
    return Value(!same);
}

}  // namespace

Value loop_attribute(Runtime& runtime, const std::shared_ptr<Loop>& loop, std::string_view name) {
    runtime.step();
    if (name == "index") return Value(loop->index0 + 1);
    if (name == "index0") return Value(loop->index0);
    if (name == "first") return Value(loop->index0 == 0);
    if (name == "last") return Value(loop->peek() == nullptr);
    if (name == "length") return Value(loop->count());
    if (name == "revindex") return Value(loop->count() - loop->index0);
    if (name == "revindex0") return Value(loop->count() - loop->index0 - 1);
    if (name == "depth") return Value(loop->depth0 + 1);
    if (name == "depth0") return Value(loop->depth0);
    if (name == "previtem") return loop->index0 > 0 ? loop->previous : runtime.undefined("there is no previous item");
    if (name == "nextitem") {
        const Value* next = loop->peek();
        return next ? *next : runtime.undefined("there is no next item");
    }
    if (name == "cycle")
        return runtime.function("loop.cycle",
                                [loop](Runtime&, const Arguments& arguments) { return cycle(loop, arguments); });
    if (name == "changed")
        return runtime.function("loop.changed", [loop](Runtime& inner, const Arguments& arguments) {
            return changed(inner, loop, arguments);
        });
    return runtime.undefined(text_of("'jinja2.runtime.LoopContext object' has no attribute '", brief(name), "'"));
}

Value call_loop(Runtime& runtime, const std::shared_ptr<Loop>& loop, const Arguments& arguments) {
    check(bool(loop->recurse), "the loop must have the 'recursive' marker to be called");
    check(arguments.positional.size() == 1 && arguments.named.empty(), "loop(): expected one argument");
    return loop->recurse(runtime, arguments.positional[0]);
}

}  // namespace tessera::jinja
