// The fuzzer's bytes as a stream of choices: what is asked for past their end is zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>

class TakenBytes {
   public:
    TakenBytes(const std::uint8_t* bytes, std::size_t size) : left_(bytes, size) {}

    bool is_empty() const { return left_.empty(); }
    std::uint8_t byte() {
        if (left_.empty()) return 0;
        const std::uint8_t value = left_[0];
        left_ = left_.subspan(1);
        return value;
    }
    std::uint32_t word() { return byte() | std::uint32_t{byte()} << 8; }
    std::string text(std::size_t most) {
        const auto some = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(some.size());
        return {some.begin(), some.end()};
    }
    template <class List>
    const auto& one_of(const List& list) {
        return list[byte() % std::size(list)];
    }

   private:
    std::span<const std::uint8_t> left_;
};
