#include "tessera/inference/stop_strings.h"

#include <algorithm>
#include <utility>

#include "tessera/core/error.h"

namespace tessera::inference {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
    for (const std::string& stop : stops_) check(!stop.empty(), "a stop string must not be empty");
}

std::string StopStrings::add(std::string_view piece) {
    if (found_) return {};
    held_ += piece;
    std::size_t first = held_.npos;
    for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
    if (first != held_.npos) {
        found_ = true;
        held_.resize(first);
        return std::exchange(held_, {});
    }
    std::size_t kept = 0;  // the longest end of the text that begins a stop string
    for (const std::string& stop : stops_)
        for (std::size_t length = std::min(stop.size() - 1, held_.size()); length > kept; --length)
            if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) kept = length;
    const std::string sure = held_.substr(0, held_.size() - kept);
    held_.erase(0, held_.size() - kept);
    return sure;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace tessera::inference
