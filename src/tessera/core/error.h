// Errors that a caller can cause. `fail("linear: width ", width, " does not fit ", shape)` throws one Error
// whose text is the parts put together; anything with an `append_text` overload can be a part.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

class Error : public std::runtime_error {
   public:
    explicit Error(const std::string& text);  // what() ends at a zero byte, so one is written out as \0
};

inline void append_text(std::string& text, std::string_view part) { text += part; }
void append_text(std::string& text, double part);
template <std::integral Integer>
void append_text(std::string& text, Integer part) {
    if constexpr (std::same_as<Integer, bool>)
        text += part ? "true" : "false";
    else
        text += std::to_string(part);
}

template <class... Parts>
std::string text_of(const Parts&... parts) {
    std::string text;
    (append_text(text, parts), ...);
    return text;
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    throw Error(text_of(parts...));
}

template <class... Parts>
void check(bool holds, const Parts&... parts) {
    if (!holds) [[unlikely]]
        fail(parts...);
}

}  // namespace tessera
