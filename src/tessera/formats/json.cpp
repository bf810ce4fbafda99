#include "tessera/formats/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/formats/atomic_file.h"

namespace tessera::formats {
namespace {

constexpr std::size_t brief_length = 60;

const char* name_of(Json::Kind kind) {
    switch (kind) {
        case Json::Kind::Null: return "null";
        case Json::Kind::Boolean: return "true or false";
        case Json::Kind::Integer: return "an integer";
        case Json::Kind::Number: return "a number";
        case Json::Kind::String: return "a string";
        case Json::Kind::Array: return "an array";
        case Json::Kind::Object: return "an object";
    }
    return "";
}

void expect(const Json& value, Json::Kind wanted) {
    check(value.kind() == wanted, "expected ", name_of(wanted), ", found ", value);
}

void append_number(std::string& text, double value) {
    check(std::isfinite(value), "json: ", value, " cannot be written");
    char buffer[32];
    const char* end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
    text += digits;
    if (digits.find_first_of(".e") == std::string_view::npos) text += ".0";  // it is no integer when read again
}

void append_string(std::string& text, const std::string& value) {
    try {
        text += nlohmann::json(value).dump();
    } catch (const nlohmann::json::exception&) {
        fail("json: a string of ", value.size(), " bytes to be written is not UTF-8");
    }
}

class Writer {
   public:
    explicit Writer(int indent) : indent_(indent) {}

    void append(const Json& value) {
        switch (value.kind()) {
            case Json::Kind::Null: text += "null"; break;
            case Json::Kind::Boolean: append_text(text, value.as_boolean()); break;
            case Json::Kind::Integer: append_text(text, value.as_integer()); break;
            case Json::Kind::Number: append_number(text, value.as_number()); break;
            case Json::Kind::String: append_string(text, value.as_string()); break;
            case Json::Kind::Array: append_list('[', value.items(), ']'); break;
            case Json::Kind::Object: append_list('{', value.members(), '}'); break;
        }
    }

    std::string text;

   private:
    void append_item(const Json& item) { append(item); }
    void append_item(const Json::Member& member) {
        append_string(text, member.key);
        text += indent_ > 0 ? ": " : ":";
        append(member.value);
    }

    template <class Items>
    void append_list(char open, const Items& items, char close) {
        text += open;
        ++depth_;
        for (const auto& item : items) {
            if (&item != &items.front()) text += ',';
            new_line();
            append_item(item);
        }
        --depth_;
        if (!items.empty()) new_line();
        text += close;
    }

    void new_line() {
        if (indent_ <= 0) return;
        text += '\n';
        text.append(static_cast<std::size_t>(indent_ * depth_), ' ');
    }

    int indent_;
    int depth_ = 0;
};

}  // namespace

Json::Members::Members() = default;
Json::Members::Members(const Members&) = default;
Json::Members::Members(Members&&) noexcept = default;
Json::Members& Json::Members::operator=(const Members&) = default;
Json::Members& Json::Members::operator=(Members&&) noexcept = default;
Json::Members::~Members() = default;

Json Json::array() {
    Json out;
    out.value_.emplace<std::vector<Json>>();
    return out;
}

Json Json::object() {
    Json out;
    out.value_.emplace<Members>();
    return out;
}

bool Json::as_boolean() const {
    expect(*this, Kind::Boolean);
    return std::get<bool>(value_);
}

std::int64_t Json::as_integer() const {
    expect(*this, Kind::Integer);
    return std::get<std::int64_t>(value_);
}

double Json::as_number() const {
    if (is_integer()) return static_cast<double>(std::get<std::int64_t>(value_));
    expect(*this, Kind::Number);
    return std::get<double>(value_);
}

const std::string& Json::as_string() const& {
    expect(*this, Kind::String);
    return std::get<std::string>(value_);
}

const std::vector<Json>& Json::items() const& {
    expect(*this, Kind::Array);
    return std::get<std::vector<Json>>(value_);
}

const std::vector<Json::Member>& Json::members() const& {
    expect(*this, Kind::Object);
    return std::get<Members>(value_).list;
}

std::string Json::as_string() && {
    expect(*this, Kind::String);
    return std::get<std::string>(std::move(value_));
}

std::vector<Json> Json::items() && {
    expect(*this, Kind::Array);
    return std::get<std::vector<Json>>(std::move(value_));
}

std::vector<Json::Member> Json::members() && {
    expect(*this, Kind::Object);
    return std::move(std::get<Members>(value_).list);
}

std::size_t Json::Members::position(std::string_view key) const {
    const auto found = std::lower_bound(by_key.begin(), by_key.end(), key,
                                        [&](std::uint32_t i, std::string_view wanted) { return list[i].key < wanted; });
    return static_cast<std::size_t>(found - by_key.begin());
}

const Json* Json::find(std::string_view key) const& {
    expect(*this, Kind::Object);
    const auto& members = std::get<Members>(value_);
    const std::size_t position = members.position(key);
    if (position == members.by_key.size()) return nullptr;
    const Member& found = members.list[members.by_key[position]];
    return found.key == key ? &found.value : nullptr;
}

Json& Json::set(std::string key, Json value) {
    expect(*this, Kind::Object);
    auto& members = std::get<Members>(value_);
    const std::size_t position = members.position(key);
    if (position < members.by_key.size() && members.list[members.by_key[position]].key == key) {
        members.list[members.by_key[position]].value = std::move(value);
        return *this;
    }
    members.by_key.insert(members.by_key.begin() + static_cast<std::ptrdiff_t>(position),
                          static_cast<std::uint32_t>(members.list.size()));
    members.list.push_back({std::move(key), std::move(value)});
    return *this;
}

Json& Json::push_back(Json value) {
    expect(*this, Kind::Array);
    std::get<std::vector<Json>>(value_).push_back(std::move(value));
    return *this;
}

bool Json::operator==(const Json& other) const {
    if (kind() != other.kind()) return false;
    if (is_object()) return members() == other.members();
    if (is_array()) return items() == other.items();
    if (is_string()) return as_string() == other.as_string();
    if (is_boolean()) return as_boolean() == other.as_boolean();
    if (is_integer()) return as_integer() == other.as_integer();
    return is_null() || as_number() == other.as_number();
}

std::string Json::dump(int indent) const {
    Writer writer(indent);
    writer.append(*this);
    return std::move(writer.text);
}

void Json::write(const std::filesystem::path& path) const {
    AtomicFile file(path);
    file.write(text_of(dump(), "\n"));
    file.commit();
}

std::string Json::brief() const {
    if (is_array()) return text_of("an array of ", items().size());
    if (is_object()) return text_of("an object of ", members().size());
    if (kind() == Kind::Number && !std::isfinite(as_number())) return text_of(as_number());
    if (is_string() && as_string().size() > brief_length) return text_of("a string of ", as_string().size(), " bytes");
    return dump();
}

}  // namespace tessera::formats
