#include "tessera/formats/config.h"

#include <cmath>
#include <optional>

namespace tessera::formats {
namespace {

constexpr std::int64_t size_limit = std::int64_t{1} << 31;

std::optional<std::int64_t> integer_of(const Json& value) {
    if (value.is_integer()) return value.as_integer();
    if (!value.is_number()) return {};
    const double number = value.as_number();
    if (std::trunc(number) != number || std::fabs(number) > 0x1p53) return {};  // past 2^53 a double skips integers
    return static_cast<std::int64_t>(number);
}

std::optional<double> number_of(const Json& value) {
    return value.is_number() ? std::optional(value.as_number()) : std::nullopt;
}

std::optional<std::string> text_value_of(const Json& value) {
    return value.is_string() ? std::optional(value.as_string()) : std::nullopt;
}

std::string expected(const char* wanted, const Json& found) { return text_of("expected ", wanted, ", found ", found); }

}  // namespace

Config::Config(Json object, std::string source, std::string section)
    : json_(std::move(object)), source_(std::move(source)), section_(std::move(section)) {
    if (json_.is_object()) return;
    if (section_.empty()) fail(source_, ": ", expected("an object", json_));
    fail(source_, ": ", section_, ": ", expected("an object", json_));
}

bool Config::is_null(std::string_view name) const {
    const Json* value = json_.find(name);
    return value && value->is_null();
}

const Json* Config::find(std::string_view name) const {
    const Json* found = json_.find(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

const Json& Config::require(std::string_view name) const {
    const Json* found = find(name);
    if (found == nullptr) reject(name, "missing");
    return *found;
}

std::string Config::path_of(std::string_view name) const {
    return section_.empty() ? std::string(name) : text_of(section_, ".", name);
}

void Config::reject(std::string_view name, std::string_view reason) const {
    fail(source_, source_.empty() ? "" : ": ", path_of(name), ": ", reason);
}

std::int64_t Config::integer(std::string_view name) const {
    const Json& found = require(name);
    const auto value = integer_of(found);
    if (!value) reject(name, expected("an integer", found));
    return *value;
}

std::int64_t Config::integer(std::string_view name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
}

std::int64_t Config::positive(std::string_view name) const {
    const Json& found = require(name);
    const auto value = integer_of(found);
    if (!value || *value < 1) reject(name, expected("a positive integer", found));
    if (*value >= size_limit) reject(name, expected("a size below 2^31", found));
    return *value;
}

std::int64_t Config::positive(std::string_view name, std::int64_t fallback) const {
    return has(name) ? positive(name) : fallback;
}

double Config::number(std::string_view name) const {
    const Json& found = require(name);
    const auto value = number_of(found);
    if (!value) reject(name, expected("a number", found));
    return *value;
}

double Config::number(std::string_view name, double fallback) const { return has(name) ? number(name) : fallback; }

bool Config::boolean(std::string_view name) const {
    const Json& found = require(name);
    if (!found.is_boolean()) reject(name, expected("true or false", found));
    return found.as_boolean();
}

bool Config::boolean(std::string_view name, bool fallback) const { return has(name) ? boolean(name) : fallback; }

std::string Config::text(std::string_view name) const {
    const Json& found = require(name);
    if (!found.is_string()) reject(name, expected("a string", found));
    return found.as_string();
}

std::string Config::text(std::string_view name, std::string fallback) const {
    return has(name) ? text(name) : fallback;
}

template <class Read>
auto Config::list(std::string_view name, const char* wanted, Read read) const {
    const Json& found = require(name);
    if (!found.is_array()) reject(name, expected(text_of("an array, each ", wanted).c_str(), found));
    std::vector<typename decltype(read(found))::value_type> values;
    for (const Json& item : found.items()) {
        auto value = read(item);
        if (!value) reject(text_of(name, "[", values.size(), "]"), expected(wanted, item));
        values.push_back(*std::move(value));
    }
    return values;
}

std::vector<std::int64_t> Config::integers(std::string_view name) const { return list(name, "an integer", integer_of); }
std::vector<double> Config::numbers(std::string_view name) const { return list(name, "a number", number_of); }
std::vector<std::string> Config::texts(std::string_view name) const { return list(name, "a string", text_value_of); }

Config Config::section(std::string_view name) const { return {require(name), source_, path_of(name)}; }

Config Config::section_or_empty(std::string_view name) const {
    const Json* found = find(name);
    return {found ? *found : Json::object(), source_, path_of(name)};
}

}  // namespace tessera::formats
