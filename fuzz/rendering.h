// Properties of every template: it ends in a text or in one Error, within its limits; it takes no more memory than it
// was charged for and no more time than its steps; rendered again it gives the same.
#pragma once

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tessera/core/error.h"
#include "tessera/jinja/interpreter.h"
#include "tessera/jinja/parser.h"

// Memory in use, and the most since it was last asked.
struct Memory {
    inline static std::int64_t live = 0, peak = 0;

    static void count() {
        static const bool installed = [] {
            __sanitizer_install_malloc_and_free_hooks(
                [](const volatile void*, std::size_t size) {
                    live += static_cast<std::int64_t>(size);
                    peak = std::max(peak, live);
                },
                [](const volatile void* block) {
                    if (block)
                        live -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<void*>(block)));
                });
            return true;
        }();
        (void)installed;
        peak = live;
    }
};

[[noreturn]] inline void broken(const char* what, std::int64_t found, std::int64_t allowed) {
    std::fprintf(stderr, "%s: %lld, allowed %lld\n", what, static_cast<long long>(found),
                 static_cast<long long>(allowed));
    std::abort();
}

inline std::string rendered(const tessera::jinja::Template& source, const tessera::formats::Json& values) {
    namespace jinja = tessera::jinja;
    const jinja::Limits limits{.steps = 20'000, .bytes = 8 << 20, .output = 1 << 20};
    Memory::count();
    const std::int64_t memory_before = Memory::live;
    const std::clock_t time_before = std::clock();
    std::int64_t charged = 0;
    std::string text;
    {
        jinja::Runtime runtime(limits, std::tm{});
        try {
            text = jinja::Interpreter(source, values, runtime).run();
        } catch (const tessera::Error& error) {
            text = error.what();
        }
        charged = runtime.bytes();
        if (runtime.steps() > limits.steps) broken("steps", runtime.steps(), limits.steps);
        if (charged > limits.bytes) broken("charged bytes", charged, limits.bytes);
    }
    // Texts and lists that grow hold up to three times what they need, and the last error's own text is not charged.
    const std::int64_t memory = Memory::peak - memory_before, most_memory = 4 * charged + (1 << 20);
    if (memory > most_memory) broken("bytes in use", memory, most_memory);
    const std::int64_t seconds = (std::clock() - time_before) / CLOCKS_PER_SEC;
    if (seconds > 5)
        broken("seconds", seconds, 5);  // a five-hundredth of the usual steps, with the sanitizers: below one
    return text;
}

inline void check_rendering(const std::string& source, const tessera::formats::Json& values) {
    namespace jinja = tessera::jinja;
    try {
        const jinja::Template parsed = jinja::parse(source);
        if (rendered(parsed, values) != rendered(parsed, values)) broken("rendered again: differs", 1, 0);
    } catch (const tessera::Error&) {
    }
}
