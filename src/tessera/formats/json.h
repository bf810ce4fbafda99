// A JSON value (RFC 8259): what config.json, a tokenizer or the header of a safetensors file holds. Objects keep the
// order in which their members came. Reading is strict and bounded, because such files come from strangers: one clear
// error for bad UTF-8, a key given twice, NaN or Infinity (which Python writes, JSON does not know), and anything past
// the limits.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/core/error.h"

namespace tessera::formats {

struct JsonLimits {
    std::size_t bytes = std::size_t{64} << 20;
    int depth = 64;
    std::size_t values = 5'000'000;  // a value takes up to fifty times the bytes of its text
};

class Json {
   public:
    enum class Kind : std::uint8_t { Null, Boolean, Integer, Number, String, Array, Object };
    struct Member;  // key and value

    Json() = default;  // null
    template <std::same_as<bool> Boolean>
    Json(Boolean value) : value_(value) {}
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) Json(Integer value) : value_(static_cast<std::int64_t>(value)) {
        check(std::in_range<std::int64_t>(value), "json: ", value, " is past 64 bits");
    }
    Json(double value) : value_(value) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(const char* value) : value_(std::string(value)) {}
    static Json array();
    static Json object();

    // `source` is what errors name: the path of the file, say.
    static Json parse(std::string_view text, const std::string& source, const JsonLimits& limits = {});
    static Json read(const std::filesystem::path& path, const JsonLimits& limits = {});
    // Reads back as the same value, numbers to the bit. Without indent all stands in one line.
    std::string dump(int indent = 2) const;
    void write(const std::filesystem::path& path) const;  // whole or not at all

    Kind kind() const { return static_cast<Kind>(value_.index()); }
    bool is_null() const { return kind() == Kind::Null; }
    bool is_boolean() const { return kind() == Kind::Boolean; }
    bool is_integer() const { return kind() == Kind::Integer; }
    bool is_number() const { return kind() == Kind::Number || is_integer(); }
    bool is_string() const { return kind() == Kind::String; }
    bool is_array() const { return kind() == Kind::Array; }
    bool is_object() const { return kind() == Kind::Object; }

    // Each throws where the value is of another kind. Every integer is a number too. From a temporary, texts and lists
    // are moved out, so that a loop over them is safe.
    bool as_boolean() const;
    std::int64_t as_integer() const;
    double as_number() const;
    const std::string& as_string() const&;
    std::string as_string() &&;
    const std::vector<Json>& items() const&;
    std::vector<Json> items() &&;
    const std::vector<Member>& members() const&;
    std::vector<Member> members() &&;
    const Json* find(std::string_view key) const&;  // null where the object has no such member
    const Json* find(std::string_view key) && = delete;

    Json& set(std::string key, Json value);  // into an object, in place of an earlier value; returns *this
    Json& push_back(Json value);             // onto an array; returns *this

    bool operator==(const Json& other) const;
    std::string brief() const;  // for errors: the value itself if it is short, else what it is
    friend void append_text(std::string& text, const Json& value) { text += value.brief(); }

   private:
    friend class JsonBuilder;
    // Made, copied and destroyed in the source file, where Member is complete.
    struct Members {
        Members();
        Members(const Members&);
        Members(Members&&) noexcept;
        Members& operator=(const Members&);
        Members& operator=(Members&&) noexcept;
        ~Members();

        std::vector<Member> list;
        std::vector<std::uint32_t> by_key;  // indices into the list, sorted by key

        std::size_t position(std::string_view key) const;  // where in by_key it is, or would be
    };

    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Json>, Members> value_;
};

struct Json::Member {
    std::string key;
    Json value;

    bool operator==(const Member&) const = default;
};

}  // namespace tessera::formats
