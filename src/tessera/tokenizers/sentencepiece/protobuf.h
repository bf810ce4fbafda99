// Protocol buffers on the wire (protobuf.dev, encoding): fields one after the other, each with a number and a kind.
// Every length is checked against what is left; errors name the source.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/core/error.h"

namespace tessera::tokenizers {

class ProtobufReader {
   public:
    enum class Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

    ProtobufReader(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

    // The next field, if there is one. Its value stays valid until the following call.
    bool next() {
        if (bytes_.empty()) return false;
        const std::uint64_t tag = varint();
        number_ = tag >> 3;
        wire_ = static_cast<Wire>(tag & 7);
        check(number_ > 0, source_, ": a field with the number 0");
        switch (wire_) {
            case Wire::Varint: value_ = varint(); break;
            case Wire::Fixed64: take(8); break;
            case Wire::Bytes: take(varint()); break;
            case Wire::Fixed32: take(4); break;
            default: fail(source_, ": field ", number_, ": unknown wire type ", tag & 7);
        }
        return true;
    }

    std::uint64_t number() const { return number_; }
    std::int64_t integer() const { return expect(Wire::Varint), static_cast<std::int64_t>(value_); }
    bool boolean() const { return expect(Wire::Varint), value_ != 0; }
    std::string_view bytes() const { return expect(Wire::Bytes), taken_; }
    float number32() const {
        expect(Wire::Fixed32);
        std::uint32_t bits = 0;
        for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<unsigned char>(taken_[static_cast<std::size_t>(i)]);
        return std::bit_cast<float>(bits);
    }

   private:
    void expect(Wire wire) const {
        check(wire_ == wire, source_, ": field ", number_, ": wire type ", static_cast<int>(wire_), " in place of ",
              static_cast<int>(wire));
    }
    void take(std::uint64_t count) {
        check(count <= bytes_.size(), source_, ": field ", number_, ": needs ", count, " bytes, but ", bytes_.size(),
              " are left");
        taken_ = bytes_.substr(0, static_cast<std::size_t>(count));
        bytes_.remove_prefix(static_cast<std::size_t>(count));
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            check(!bytes_.empty(), source_, ": ends within a number");
            const auto byte = static_cast<unsigned char>(bytes_[0]);
            bytes_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        fail(source_, ": a number of more than ten bytes");
    }

    std::string_view bytes_, taken_;
    const std::string& source_;
    std::uint64_t number_ = 0, value_ = 0;
    Wire wire_ = Wire::Varint;
};

class ProtobufWriter {
   public:
    void integer(std::uint64_t number, std::int64_t value) {
        varint(number << 3 | 0);
        varint(static_cast<std::uint64_t>(value));
    }
    void bytes(std::uint64_t number, std::string_view value) {
        varint(number << 3 | 2);
        varint(value.size());
        text_ += value;
    }
    void number32(std::uint64_t number, float value) {
        varint(number << 3 | 5);
        auto bits = std::bit_cast<std::uint32_t>(value);
        for (int i = 0; i < 4; ++i, bits >>= 8) text_ += static_cast<char>(bits & 0xFF);
    }
    const std::string& text() const { return text_; }

   private:
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
        text_ += static_cast<char>(value);
    }

    std::string text_;
};

}  // namespace tessera::tokenizers
