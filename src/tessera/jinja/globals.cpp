#include "tessera/jinja/globals.h"

#include <algorithm>

#include "tessera/jinja/brief.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

Value range(Runtime& runtime, const Arguments& arguments) {
    const BoundArguments given(arguments, "range", {"start", "stop", "step"}, 1);
    const bool has_stop = given.find(1) != nullptr;
    const std::int64_t start = has_stop ? given.whole(0, 0) : 0, stop = given.whole(has_stop ? 1 : 0, 0);
    const std::int64_t step = given.whole(2, 1);
    check(step != 0, "range() arg 3 must not be zero");
    std::vector<Value> items;
    for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
        check(static_cast<std::int64_t>(items.size()) < most_range, "range(): more than ", most_range, " numbers");
        items.emplace_back(i);
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    const std::string shown =
        step == 1 ? text_of("range(", start, ", ", stop, ")") : text_of("range(", start, ", ", stop, ", ", step, ")");
    return runtime.sequence({.kind = SequenceKind::Range, .items = std::move(items), .shown = shown});
}

// dict(a=1), dict({...}), dict([(k, v)]).
Dictionary dictionary_from(Runtime& runtime, const Arguments& arguments, std::string_view function) {
    check(arguments.positional.size() <= 1, function, "() expected at most 1 argument, got ",
          arguments.positional.size());
    Dictionary result;
    if (!arguments.positional.empty()) {
        const Value& source = arguments.positional[0];
        check_defined(source);
        if (source.is_dictionary())
            result = source.dictionary().copy(runtime);
        else
            for (const Value& entry : items_of(runtime, source)) {
                const std::vector<Value> both = items_of(runtime, entry);
                check(both.size() == 2, function, "(): an entry has ", both.size(), " parts; 2 is required");
                result.set(runtime, both[0], both[1]);
            }
    }
    for (const auto& [name, value] : arguments.named) result.set(runtime, runtime.text(std::string_view(name)), value);
    return result;
}

Value make_dictionary(Runtime& runtime, const Arguments& arguments) {
    return runtime.dictionary(dictionary_from(runtime, arguments, "dict"));
}

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
    return runtime.new_namespace(dictionary_from(runtime, arguments, "namespace"));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
    const BoundArguments given(arguments, "raise_exception", {"message"}, 1);
    fail(brief(str(runtime, *given.find(0)).text(), most_message));
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
    const BoundArguments given(arguments, "strftime_now", {"format"}, 1);
    const std::string_view format = given.text(0);
    check(format.size() <= 1000, "strftime_now: the format is too long");
    const std::tm time = runtime.now();
    constexpr std::int64_t steps_of_field = 100;  // some ask the system for its time zone
    runtime.step(steps_of_field * (1 + std::count(format.begin(), format.end(), '%')));
    char buffer[16384];
    // A character of our own, because an empty result and a failure look alike.
    const std::size_t size = std::strftime(buffer, sizeof buffer, text_of(format, ".").c_str(), &time);
    check(size > 0, "strftime_now: the result is too long");
    return runtime.text(std::string(buffer, size - 1));
}

// Nothing the first time it is called, then the separator.
Value joiner(Runtime& runtime, const Arguments& arguments) {
    const BoundArguments given(arguments, "joiner", {"sep"});
    const auto used = std::make_shared<bool>(false);
    return runtime.function("joiner",
                            [used, separator = given.value(0, Value(", "))](Runtime& inner, const Arguments&) {
                                return std::exchange(*used, true) ? separator : inner.text(std::string_view());
                            });
}

}  // namespace

Value global(Runtime& runtime, std::string_view name) {
    static constexpr std::pair<std::string_view, Value (*)(Runtime&, const Arguments&)> functions[] = {
        {"range", range},
        {"dict", make_dictionary},
        {"namespace", make_namespace},
        {"raise_exception", raise_exception},
        {"strftime_now", strftime_now},
        {"joiner", joiner},
    };
    for (const auto& [known, function] : functions)
        if (name == known) return runtime.function(std::string(name), function);
    return runtime.undefined(text_of("'", brief(name), "' is undefined"));
}

}  // namespace tessera::jinja
