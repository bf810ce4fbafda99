// gather, scatter_add and embedding: values at other places.
#include "tessera/ops/gather.h"

#include "support/op_case.h"
#include "tessera/core/random.h"

namespace tessera::testing {
namespace {

Tensor random_indices(const Shape& shape, std::int64_t below, std::uint64_t seed) {
    const Tensor out = Tensor::empty(shape, DType::I64);
    for (std::int64_t i = 0; i < shape.elements(); ++i)
        out.data<std::int64_t>()[i] = static_cast<std::int64_t>(
            random_bits({.seed = seed}, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(below));
    return out;
}

// Calls visit(offset of this position in index, offset of where it points to in a tensor of `shape`, offset of this
// position in a tensor of `source_shape`), all row-major.
template <class Visit>
void each_index(const Tensor& index, int dim, const Shape& shape, const Shape& source_shape, const Visit& visit) {
    const auto values = index.to_vector<std::int64_t>();
    const Shape strides = contiguous_strides(shape), source_strides = contiguous_strides(source_shape);
    for (std::int64_t n = 0; n < index.elements(); ++n) {
        std::int64_t rest = n, place = 0, source = 0;
        for (int i = index.rank() - 1; i >= 0; --i) {
            const std::int64_t at = rest % index.size(i);
            rest /= index.size(i);
            place += (i == dim ? values[static_cast<std::size_t>(n)] : at) * strides[i];
            source += at * source_strides[i];
        }
        visit(static_cast<std::size_t>(n), static_cast<std::size_t>(place), static_cast<std::size_t>(source));
    }
}

Tensor plain_gather(const Tensor& x, int dim, const Tensor& index) {
    const auto values = x.to_vector<double>();
    std::vector<double> out(static_cast<std::size_t>(index.elements()));
    each_index(index, dim, x.shape(), index.shape(),
               [&](std::size_t n, std::size_t place, std::size_t) { out[n] = values[place]; });
    return from_doubles(out, index.shape());
}

Tensor plain_scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
    auto out = x.to_vector<double>();
    const auto values = source.to_vector<double>();
    each_index(index, dim, x.shape(), source.shape(),
               [&](std::size_t, std::size_t place, std::size_t from) { out[place] += values[from]; });
    return from_doubles(out, x.shape());
}

Tensor plain_embedding(const Tensor& table, const Tensor& ids) {
    const auto values = table.to_vector<double>();
    std::vector<double> out;
    for (const std::int64_t id : ids.to_vector<std::int64_t>())
        for (std::int64_t i = 0; i < table.size(1); ++i)
            out.push_back(values[static_cast<std::size_t>(id * table.size(1) + i)]);
    Shape shape = ids.shape();
    shape.push_back(table.size(1));
    return from_doubles(out, shape);
}

void add_indexed(Cases& out, const std::string& label, const Shape& x, int dim, const Shape& index,
                 const Shape& source) {
    const Input indices{.shape = index, .dtype = DType::I64, .values = random_indices(index, x[dim], 5)};
    out.add({.name = "gather/" + label,
             .inputs = {{.shape = x}, indices},
             .op = [=](const Tensors& in) { return Tensors{ops::gather(in[0], dim, in[1])}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_gather(in[0], dim, in[1])}; },
             .cuda = true});
    out.add({.name = "scatter_add/" + label,
             .inputs = {{.shape = x}, indices, {.shape = source}},
             .op = [=](const Tensors& in) { return Tensors{ops::scatter_add(in[0], dim, in[1], in[2])}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_scatter_add(in[0], dim, in[1], in[2])}; },
             .cuda = true});
}

void add_embedding(Cases& out, const std::string& label, const Shape& table, const Shape& ids) {
    out.add(
        {.name = "embedding/" + label,
         .inputs = {{.shape = table}, {.shape = ids, .dtype = DType::I64, .values = random_indices(ids, table[0], 8)}},
         .op = [](const Tensors& in) { return Tensors{ops::embedding(in[0], in[1])}; },
         .reference = [](const Tensors& in) { return Tensors{plain_embedding(in[0], in[1])}; },
         .cuda = true});
}

const RegisterCases gather_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_indexed(out, text_of("columns/", n), {3, n}, 1, {3, 5}, {3, 5});
        add_indexed(out, text_of("rows/", n), {n, 3}, 0, {7, 3}, {7, 3});
        add_embedding(out, text_of(n), {7, n}, {3, 5});
    }
    add_indexed(out, "middle", {2, 31, 3}, 1, {2, 4, 3}, {2, 4, 3});
    add_indexed(out, "smaller_index", {4, 9, 5}, 1, {2, 20, 3}, {3, 21, 5});
    add_indexed(out, "large", {64, 257}, 1, {64, 1000}, {64, 1000});
    add_embedding(out, "one_id", {50, 33}, {});
    add_embedding(out, "many_repeats", {3, 1031}, {200});
    add_embedding(out, "large", {500, 257}, {4, 300});
}};

}  // namespace
}  // namespace tessera::testing
