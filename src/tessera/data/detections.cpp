#include "tessera/data/detections.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::data {
namespace {

constexpr std::size_t box_edges = 4, segment_codes = 16;
constexpr int codes_per_place = 128;

// Takes tokens such as <loc0123> from the front of the text, at most `count`; spaces between them do not matter.
std::vector<int> take_numbers(std::string_view& text, std::string_view head, std::size_t digits, int below,
                              std::size_t count) {
    std::vector<int> numbers;
    while (numbers.size() < count) {
        std::string_view rest = text.substr(std::min(text.find_first_not_of(" \n"), text.size()));
        if (!rest.starts_with(head) || rest.size() <= head.size() + digits || rest[head.size() + digits] != '>') break;
        const char* begin = rest.data() + head.size();
        int number = -1;
        const auto [end, error] = std::from_chars(begin, begin + digits, number);
        if (error != std::errc() || end != begin + digits || number < 0 || number >= below) break;
        numbers.push_back(number);
        text = rest.substr(head.size() + digits + 1);
    }
    return numbers;
}

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
}

constexpr std::string_view location_head = "<loc", segment_head = "<seg";

}  // namespace

Detection::Box Detection::box(std::int64_t width, std::int64_t height) const {
    const auto pixel = [](int location, std::int64_t size) {
        return std::llround(static_cast<double>(location) * static_cast<double>(size) / locations_per_side);
    };
    const std::int64_t y0 = pixel(locations[0], height), x0 = pixel(locations[1], width);
    const std::int64_t y1 = pixel(locations[2], height), x1 = pixel(locations[3], width);
    return {std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)};
}

std::vector<Detection> read_detections(std::string_view text) {
    std::vector<Detection> found;
    while (true) {
        const std::size_t next = text.find(location_head);
        if (next == text.npos) return found;
        text = text.substr(next);
        const std::vector<int> edges = take_numbers(text, location_head, 4, locations_per_side, box_edges);
        if (edges.size() < box_edges) {
            if (edges.empty()) text = text.substr(location_head.size());
            continue;
        }
        Detection detection;
        std::copy(edges.begin(), edges.end(), detection.locations.begin());
        detection.segment = take_numbers(text, segment_head, 3, codes_per_place, segment_codes);
        if (detection.segment.size() < segment_codes) detection.segment.clear();  // half a mask is none
        const std::size_t end = std::min(text.find_first_of(";<"), text.size());
        detection.label = trimmed(text.substr(0, end));
        text = text.substr(end);
        found.push_back(std::move(detection));
    }
}

formats::Json to_json(std::span<const Detection> detections, std::int64_t width, std::int64_t height) {
    using formats::Json;
    const auto list_of = [](const auto& numbers) {
        Json list = Json::array();
        for (const int number : numbers) list.push_back(number);
        return list;
    };
    Json list = Json::array();
    for (const Detection& detection : detections) {
        const Detection::Box box = detection.box(width, height);
        Json entry = Json::object();
        entry.set("label", detection.label).set("left", box.left).set("top", box.top);
        entry.set("right", box.right).set("bottom", box.bottom).set("locations", list_of(detection.locations));
        if (!detection.segment.empty()) entry.set("segment", list_of(detection.segment));
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace tessera::data
