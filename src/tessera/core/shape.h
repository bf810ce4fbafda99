// A short list of dimensions: the shape of a tensor, or its strides (in elements).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tessera/core/error.h"

namespace tessera {

constexpr int max_rank = 8;

class Shape {
   public:
    Shape() = default;
    Shape(std::initializer_list<std::int64_t> dims);
    static Shape of_rank(int rank, std::int64_t value = 0);

    int rank() const { return rank_; }
    std::int64_t& operator[](int dim) { return dims_[static_cast<std::size_t>(dim)]; }
    std::int64_t operator[](int dim) const { return dims_[static_cast<std::size_t>(dim)]; }
    // Negative dims count from the end; anything out of range throws.
    std::int64_t at(int dim) const { return (*this)[wrap(dim)]; }
    int wrap(int dim) const;

    void push_back(std::int64_t value);
    std::int64_t elements() const;  // the product; throws when it overflows

    const std::int64_t* begin() const { return dims_.data(); }
    const std::int64_t* end() const { return dims_.data() + rank_; }
    const std::int64_t* data() const { return dims_.data(); }

    bool operator==(const Shape& other) const;

   private:
    std::array<std::int64_t, max_rank> dims_{};
    int rank_ = 0;
};

void append_text(std::string& text, const Shape& shape);  // "(2, 3)"

Shape contiguous_strides(const Shape& shape);
// The shape both broadcast to (trailing dims aligned, 1 stretches); throws naming `who` where they do not fit.
Shape broadcast(const Shape& a, const Shape& b, const char* who);

}  // namespace tessera
