#include "tessera/core/shape.h"

#include <algorithm>

namespace tessera {

Shape::Shape(std::initializer_list<std::int64_t> dims) {
    for (const std::int64_t dim : dims) push_back(dim);
}

Shape Shape::of_rank(int rank, std::int64_t value) {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(value);
    return shape;
}

int Shape::wrap(int dim) const {
    const int wrapped = dim < 0 ? dim + rank_ : dim;
    check(wrapped >= 0 && wrapped < rank_, "dimension ", dim, " is out of range for shape ", *this);
    return wrapped;
}

void Shape::push_back(std::int64_t value) {
    check(rank_ < max_rank, "more than ", max_rank, " dimensions");
    dims_[static_cast<std::size_t>(rank_++)] = value;
}

std::int64_t Shape::elements() const {
    std::int64_t product = 1;
    for (const std::int64_t dim : *this) {
        check(dim >= 0, "negative dimension in shape ", *this);
        check(!__builtin_mul_overflow(product, dim, &product), "shape ", *this, " has too many elements");
    }
    return product;
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

void append_text(std::string& text, const Shape& shape) {
    text += '(';
    for (int i = 0; i < shape.rank(); ++i) {
        if (i) text += ", ";
        append_text(text, shape[i]);
    }
    text += ')';
}

Shape contiguous_strides(const Shape& shape) {
    Shape strides = Shape::of_rank(shape.rank());
    std::int64_t step = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        strides[i] = step;
        const bool overflows = __builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step);
        check(!overflows, "shape ", shape, " has too many elements");
    }
    return strides;
}

Shape broadcast(const Shape& a, const Shape& b, const char* who) {
    const int rank = std::max(a.rank(), b.rank());
    Shape out = Shape::of_rank(rank);
    for (int i = 1; i <= rank; ++i) {
        const std::int64_t left = i <= a.rank() ? a[a.rank() - i] : 1;
        const std::int64_t right = i <= b.rank() ? b[b.rank() - i] : 1;
        check(left == right || left == 1 || right == 1, who, ": shapes ", a, " and ", b, " do not broadcast");
        out[rank - i] = left == 1 ? right : left;
    }
    return out;
}

}  // namespace tessera
