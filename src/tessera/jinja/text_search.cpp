#include "tessera/jinja/text_search.h"

#include <algorithm>
#include <cstring>

namespace tessera::jinja {

std::size_t search(Runtime& runtime, std::string_view text, std::string_view wanted, std::size_t from) {
    runtime.step();
    if (wanted.empty()) return from <= text.size() ? from : std::string_view::npos;
    // A window after the other, each paid for before the next; they overlap by what may begin in one and end in the
    // next.
    const std::size_t window = std::max(std::size_t{1} << 20, 4 * wanted.size());
    while (from <= text.size() && wanted.size() <= text.size() - from) {
        const std::string_view part = text.substr(from, window);
        const void* found = memmem(part.data(), part.size(), wanted.data(), wanted.size());
        const std::size_t at = found ? static_cast<std::size_t>(static_cast<const char*>(found) - part.data()) : 0;
        const std::size_t passed = (found ? at : part.size()) + wanted.size();
        if (wanted.size() == 1)
            runtime.scan(passed);
        else
            runtime.walk(passed);
        if (found) return from + at;
        from += part.size() - (wanted.size() - 1);
    }
    return std::string_view::npos;
}

SearchFromRight::SearchFromRight(Runtime& runtime, std::string_view text, std::string_view wanted) : runtime_(runtime) {
    runtime.charge(static_cast<std::int64_t>(text.size() + wanted.size()));
    text_.assign(text.rbegin(), text.rend());
    wanted_.assign(wanted.rbegin(), wanted.rend());
}

std::size_t SearchFromRight::before(std::size_t end) {
    const std::size_t at = search(runtime_, text_, wanted_, text_.size() - end);
    return at == std::string::npos ? at : text_.size() - at - wanted_.size();
}

}  // namespace tessera::jinja
