// A text that grows. Each part is paid for before it is copied.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tessera/jinja/runtime.h"

namespace tessera::jinja {

class TextBuilder {
   public:
    explicit TextBuilder(Runtime& runtime) : runtime_(runtime) {}

    void append(std::string_view part) {
        runtime_.charge(static_cast<std::int64_t>(part.size()));
        text_ += part;
    }
    void append(char c) { append(std::string_view(&c, 1)); }
    void repeat(std::string_view part, std::size_t times) {
        for (std::size_t i = 0; i < times; ++i) append(part);
    }

    Runtime& runtime() { return runtime_; }
    std::string take() { return std::move(text_); }
    Value value(bool safe = false) { return runtime_.paid_text(std::move(text_), safe); }

   private:
    Runtime& runtime_;
    std::string text_;
};

}  // namespace tessera::jinja
