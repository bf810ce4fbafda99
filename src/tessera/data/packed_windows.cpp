#include "tessera/data/packed_windows.h"

#include <algorithm>

#include "tessera/core/error.h"

namespace tessera::data {

PackedWindows::PackedWindows(TokenFile file, std::int64_t length)
    : file_(std::move(file)), length_(length), windows_(static_cast<std::int64_t>(file_.tokens().size()) / length) {
    check(windows_ > 0, "the data has ", file_.tokens().size(), " tokens, fewer than one sequence of ", length);
}

Window PackedWindows::at(std::int64_t index) const {
    const auto begin = static_cast<std::uint64_t>(index * length_);
    const auto tokens = file_.tokens().subspan(begin, static_cast<std::size_t>(length_));
    Window window{.ids = {tokens.begin(), tokens.end()}, .document_starts = {}};
    const auto ends = file_.document_ends();
    // The first document that ends after the window's first token.
    std::size_t document = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    std::int64_t start = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
        if (begin + static_cast<std::uint64_t>(i) == ends[document]) {
            start = i;
            ++document;
        }
        window.document_starts.push_back(start);
    }
    return window;
}

}  // namespace tessera::data
