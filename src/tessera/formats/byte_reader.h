// Reads little-endian values from bytes in memory, checking each against what is left. Errors name the source and the
// field.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tessera/core/error.h"

namespace tessera::formats {

static_assert(std::endian::native == std::endian::little, "the formats read here are little-endian");

class ByteReader {
   public:
    ByteReader(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

    std::size_t position() const { return position_; }
    std::size_t remaining() const { return bytes_.size() - position_; }

    template <class T>
    requires std::is_arithmetic_v<T> T read(std::string_view field) {
        T value;
        std::memcpy(&value, take(sizeof value, field), sizeof value);
        return value;
    }

    std::string_view text(std::uint64_t length, std::string_view field) {
        return {reinterpret_cast<const char*>(take(length, field)), static_cast<std::size_t>(length)};
    }

    // That `count` things of at least `least_bytes` each can still follow: to be asked before making room for them.
    void check_count(std::uint64_t count, std::size_t least_bytes, std::string_view field) const {
        check(count <= remaining() / least_bytes, source_, ": ", field, ": ", count, " cannot fit the ", remaining(),
              " bytes that are left of the file");
    }

   private:
    const std::byte* take(std::uint64_t count, std::string_view field) {
        check(count <= remaining(), source_, ": ", field, ": the file ends within it: ", count, " bytes are expected, ",
              remaining(), " are there");
        const std::byte* place = bytes_.data() + position_;
        position_ += static_cast<std::size_t>(count);
        return place;
    }

    std::span<const std::byte> bytes_;
    const std::string& source_;
    std::size_t position_ = 0;
};

// A name from a file as errors show it: quoted, cut where it is long, without what a terminal would obey.
inline std::string shown(std::string_view name) {
    std::string text = "'";
    for (const char c : name.substr(0, 80)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (name.size() > 80 ? "…'" : "'");
}

}  // namespace tessera::formats
