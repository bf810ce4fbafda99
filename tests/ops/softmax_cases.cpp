#include <cmath>
#include <limits>

#include "support/op_case.h"
#include "tessera/ops/softmax.h"

namespace tessera::testing {
namespace {

// The plain definition, one row after another; lengths[row] elements count.
Tensor rows_of(const Tensor& x, const std::vector<std::int64_t>& lengths, bool logarithm) {
    std::vector<double> values = x.to_vector<double>();
    const auto width = static_cast<std::size_t>(x.size(-1));
    for (std::size_t row = 0; row < values.size() / width; ++row) {
        double* line = values.data() + row * width;
        const std::size_t length = lengths.empty() ? width : static_cast<std::size_t>(lengths[row]);
        double largest = -std::numeric_limits<double>::infinity(), total = 0;
        for (std::size_t i = 0; i < length; ++i) largest = std::max(largest, line[i]);
        for (std::size_t i = 0; i < length; ++i) total += std::exp(line[i] - largest);
        for (std::size_t i = 0; i < width; ++i) {
            const double share = i < length ? std::exp(line[i] - largest) / total : 0;
            line[i] = logarithm ? line[i] - largest - std::log(total) : share;
        }
    }
    return from_doubles(values, x.shape());
}

void add_softmax(Cases& out, const std::string& label, const Shape& shape, double range) {
    out.add({.name = text_of("softmax/", label),
             .inputs = {{.shape = shape, .low = -range, .high = range}},
             .op = [](const Tensors& in) { return Tensors{ops::softmax(in[0])}; },
             .reference = [](const Tensors& in) { return Tensors{rows_of(in[0], {}, false)}; },
             .cuda = true});
    out.add({.name = text_of("log_softmax/", label),
             .inputs = {{.shape = shape, .low = -range, .high = range}},
             .op = [](const Tensors& in) { return Tensors{ops::log_softmax(in[0])}; },
             .reference = [](const Tensors& in) { return Tensors{rows_of(in[0], {}, true)}; },
             .cuda = true});
}

void add_masked(Cases& out, const std::string& label, const Shape& shape, const Shape& lengths_shape) {
    const std::int64_t width = shape[shape.rank() - 1], given = lengths_shape.elements();
    std::vector<std::int64_t> lengths;  // 0, 1, the whole row and others between
    for (std::int64_t i = 0; i < given; ++i) lengths.push_back(i == 0 ? width : (i * 7 - 7) % (width + 1));
    std::vector<std::int64_t> per_row;
    const std::int64_t rows = shape.elements() / width;
    for (std::int64_t row = 0; row < rows; ++row)
        per_row.push_back(lengths[static_cast<std::size_t>(row / (rows / given))]);
    out.add({.name = text_of("masked_softmax/", label),
             .inputs = {{.shape = shape, .low = -4, .high = 4},
                        {.shape = lengths_shape, .dtype = DType::I64, .values = Tensor::from(lengths, lengths_shape)}},
             .op = [](const Tensors& in) { return Tensors{ops::masked_softmax(in[0], in[1])}; },
             .reference = [per_row](const Tensors& in) { return Tensors{rows_of(in[0], per_row, false)}; },
             .cuda = true});
}

const RegisterCases softmax_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) add_softmax(out, text_of(n), {3, n}, 4);
    add_softmax(out, "one dimension", {33}, 4);
    add_softmax(out, "wide range", {5, 127}, 60);
    add_softmax(out, "batched", {2, 3, 5, 17}, 4);
    add_softmax(out, "large", {70, 1031}, 4);
    add_masked(out, "per batch", {4, 3, 33}, {4});
    add_masked(out, "per row", {4, 3, 33}, {4, 3});
    add_masked(out, "two dimensions", {9, 127}, {9});
    add_masked(out, "heads", {3, 2, 5, 31}, {3});
}};

}  // namespace
}  // namespace tessera::testing
