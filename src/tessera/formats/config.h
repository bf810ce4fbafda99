// config.json and its like: an object of settings that knows where it came from, so that every complaint names file and
// field: `DIR/config.json: text_config.hidden_size: expected a positive integer, found "abc"`. A null counts as absent,
// because writers put null where their class default is None.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/formats/json.h"

namespace tessera::formats {

class Config {
   public:
    Config() = default;  // empty
    // `section` is the dotted path within the source; empty at the top.
    Config(Json object, std::string source, std::string section = "");

    bool has(std::string_view name) const { return find(name) != nullptr; }
    bool is_null(std::string_view name) const;  // written as null: meant to be absent, whatever the default is
    // Without a fallback, a missing field is an error. A number such as 4096.0 is an integer too.
    std::int64_t integer(std::string_view name) const;
    std::int64_t integer(std::string_view name, std::int64_t fallback) const;
    std::int64_t positive(std::string_view name) const;  // a size: at least 1, below 2^31
    std::int64_t positive(std::string_view name, std::int64_t fallback) const;
    double number(std::string_view name) const;
    double number(std::string_view name, double fallback) const;
    bool boolean(std::string_view name) const;
    bool boolean(std::string_view name, bool fallback) const;
    std::string text(std::string_view name) const;
    std::string text(std::string_view name, std::string fallback) const;
    // Lists; absent is an error, as above.
    std::vector<std::int64_t> integers(std::string_view name) const;
    std::vector<double> numbers(std::string_view name) const;
    std::vector<std::string> texts(std::string_view name) const;

    Config section(std::string_view name) const;           // must be there
    Config section_or_empty(std::string_view name) const;  // errors of an empty one name the section too

    [[noreturn]] void reject(std::string_view name, std::string_view reason) const;

    const Json& json() const& { return json_; }
    Json json() && { return std::move(json_); }
    const std::string& source() const { return source_; }

   private:
    const Json* find(std::string_view name) const;  // null when absent or null
    const Json& require(std::string_view name) const;
    std::string path_of(std::string_view name) const;
    template <class Read>
    auto list(std::string_view name, const char* wanted, Read read) const;

    Json json_ = Json::object();
    std::string source_;
    std::string section_;
};

}  // namespace tessera::formats
