// Reading JSON text: nlohmann's SAX parser checks the grammar and the UTF-8, and a builder puts the value together and
// keeps the limits while it does.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tessera/formats/find_file.h"
#include "tessera/formats/json.h"

namespace tessera::formats {

class JsonBuilder {
   public:
    JsonBuilder(std::string_view text, const std::string& source, const JsonLimits& limits)
        : text_(text), source_(source), limits_(limits) {}

    Json take() { return std::move(root_); }

    // What the parser calls.
    bool null() { return add(Json()); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(std::int64_t value) { return add(value); }
    bool number_unsigned(std::uint64_t value) {
        return std::in_range<std::int64_t>(value) ? add(value) : add(static_cast<double>(value));
    }
    bool number_float(double value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_array(std::size_t) { return open(Json::array()); }
    bool end_array() { return close(); }
    bool start_object(std::size_t) { return open(Json::object()); }
    bool key(std::string& key) {
        key_ = std::move(key);
        return true;
    }
    bool end_object() {
        sort_keys(std::get<Json::Members>(open_.back()->value_));
        return close();
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
        const std::size_t byte = std::min(position > 0 ? position - 1 : 0, text_.size());
        fail(source_, ": ", place_of(byte), ": ", reason(byte, error.what()));
    }

   private:
    Json& place(Json value) {
        check(++values_ <= limits_.values, source_, ": more than ", limits_.values, " values");
        if (open_.empty()) return root_ = std::move(value);
        if (open_.back()->is_array())
            return std::get<std::vector<Json>>(open_.back()->value_).emplace_back(std::move(value));
        auto& members = std::get<Json::Members>(open_.back()->value_);
        members.by_key.push_back(static_cast<std::uint32_t>(members.list.size()));
        return members.list.emplace_back(Json::Member{std::move(key_), std::move(value)}).value;
    }

    bool add(Json value) {
        place(std::move(value));
        return true;
    }

    // A value stays where it is while it is open: only the innermost one grows.
    bool open(Json value) {
        check(open_.size() < static_cast<std::size_t>(limits_.depth), source_, ": nested deeper than ", limits_.depth);
        open_.push_back(&place(std::move(value)));
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    // The first eight bytes of a key as a number that sorts alike: a vocabulary has hundreds of thousands of keys, and
    // most of their texts need not be fetched again.
    static std::uint64_t beginning(const std::string& key) {
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < 8; ++i)
            bytes = bytes << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
        return bytes;
    }

    void sort_keys(Json::Members& members) const {
        const auto& list = members.list;
        std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
        order.reserve(list.size());
        for (const std::uint32_t i : members.by_key) order.emplace_back(beginning(list[i].key), i);
        std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : list[a.second].key < list[b.second].key;
        });
        std::transform(order.begin(), order.end(), members.by_key.begin(),
                       [](const auto& entry) { return entry.second; });
        const auto twice = std::adjacent_find(order.begin(), order.end(), [&](const auto& a, const auto& b) {
            return a.first == b.first && list[a.second].key == list[b.second].key;
        });
        if (twice != order.end())
            fail(source_, ": key ", Json(list[twice->second].key), " is given twice in one object");
    }

    // Where the text has one line alone, as those of JSON lines have, the column says all.
    std::string place_of(std::size_t byte) const {
        const std::string_view before = text_.substr(0, byte);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        const std::size_t column = byte - (before.rfind('\n') + 1) + 1;
        const bool is_one_line = text_.substr(0, text_.find_last_not_of(" \t\r\n") + 1).find('\n') == text_.npos;
        return is_one_line ? text_of("column ", column) : text_of("line ", line, ", column ", column);
    }

    // In words: the parser's text quotes the bytes that it read, which may be long or no text at all.
    std::string reason(std::size_t byte, const std::string& what) const {
        for (const std::string_view word : {"NaN", "Infinity"})
            if (text_.substr(byte).starts_with(word)) return text_of(word, " is no JSON number");
        if (what.find("number overflow") != what.npos) return "number overflow: more than a float of 64 bits holds";
        constexpr std::pair<std::string_view, const char*> wanted[] = {
            {"parsing object key", "a key in quotes"},
            {"parsing object separator", "':' after a key"},
            {"parsing object", "',' or '}'"},
            {"parsing array", "',' or ']'"},
            {"parsing value - unexpected", "a value: a string, a number, true, false, null, [ or {"},
            {"invalid literal", "a value: a string, a number, true, false, null, [ or {"},
            {"", "JSON"}};
        const auto entry = std::find_if(std::begin(wanted), std::end(wanted),
                                        [&](const auto& one) { return what.find(one.first) != what.npos; });
        for (const std::string_view kind : {"invalid string: ", "invalid number; "}) {
            const std::size_t begin = what.find(kind);
            if (begin != what.npos && text_.size() > byte) return what.substr(begin, what.find("; last read") - begin);
        }
        const bool is_plain = byte < text_.size() && text_[byte] > ' ' && text_[byte] < 0x7f;
        const std::string found = byte >= text_.size() ? "the end"
                                  : is_plain
                                      ? text_of("'", std::string(1, text_[byte]), "'")
                                      : text_of("byte ", static_cast<int>(static_cast<unsigned char>(text_[byte])));
        const bool is_over = values_ > 0 && open_.empty();
        return text_of("expected ", is_over ? "nothing after the value" : entry->second, ", found ", found);
    }

    std::string_view text_;
    const std::string& source_;
    const JsonLimits& limits_;
    Json root_;
    std::vector<Json*> open_;  // from the outermost to the innermost
    std::string key_;
    std::size_t values_ = 0;
};

Json Json::parse(std::string_view text, const std::string& source, const JsonLimits& limits) {
    check(text.size() <= limits.bytes, source, ": ", text.size(), " bytes are more than the limit of ", limits.bytes);
    // The parser would take a zero byte for the end of the text.
    const std::size_t zero = text.find('\0');
    check(zero == std::string_view::npos, source, ": byte ", zero, ": a zero byte");
    check(text.find_first_not_of(" \t\r\n") != std::string_view::npos, source, ": is empty; JSON is expected");
    JsonBuilder builder(text, source, limits);
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

Json Json::read(const std::filesystem::path& path, const JsonLimits& limits) {
    check_exists(path);
    std::error_code error;
    check(std::filesystem::is_regular_file(path, error), path.string(), ": not a regular file");
    std::ifstream file(path, std::ios::binary);
    check(file.good(), path.string(), ": cannot open: ", std::strerror(errno));
    const auto bytes = std::filesystem::file_size(path, error);
    check(!error, path.string(), ": ", error.message());
    check(bytes <= limits.bytes, path.string(), ": ", bytes, " bytes are more than the limit of ", limits.bytes);
    std::string text(bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    check(static_cast<std::uintmax_t>(file.gcount()) == bytes, path.string(), ": cannot read all of its ", bytes,
          " bytes");
    return parse(text, path.string(), limits);
}

}  // namespace tessera::formats
