// The beginning of a text that may be long, for errors to show.
#pragma once

#include <string_view>

namespace tessera::jinja {

constexpr std::size_t most_shown = 200, most_message = 2000;

inline std::string_view brief(std::string_view text, std::size_t most = most_shown) {
    if (text.size() <= most) return text;
    std::size_t end = most;
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // at a whole character
    return text.substr(0, end);
}

}  // namespace tessera::jinja
