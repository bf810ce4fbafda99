#include "ops/window_ways_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

using namespace ops;

Tensor scaled(const Tensor& query) { return scale(query, 1 / std::sqrt(static_cast<double>(query.size(-1)))); }

// 0 where query row i may see key column j, else −∞.
template <class Sees>
Tensor mask_of(const Shape& shape, DType dtype, Sees&& sees) {
    const Tensor mask = Tensor::zeros(shape, DType::F32);
    const std::int64_t rows = shape.at(-2), columns = shape.at(-1);
    float* data = mask.data<float>();
    for (std::int64_t at = 0; at < mask.elements(); ++at)
        if (!sees(at / (rows * columns), at / columns % rows, at % columns))
            data[at] = -std::numeric_limits<float>::infinity();
    return mask.to(dtype);
}

// Zero rows before and after, along the second dimension from the end.
Tensor padded(const Tensor& x, std::int64_t before, std::int64_t after) {
    std::vector<Tensor> parts;
    for (const std::int64_t rows : {before, std::int64_t{-1}, after}) {
        if (rows == 0) continue;
        parts.push_back(rows < 0 ? x : Tensor::zeros({x.size(0), rows, x.size(2)}, x.dtype()));
    }
    return concat(parts, 1);
}

}  // namespace

Tensor window_by_mask(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window) {
    const std::int64_t time = query.size(1);
    const Tensor mask = mask_of({time, time}, query.dtype(),
                                [&](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i && j > i - window; });
    return matmul(softmax(add(matmul(scaled(query), key, {.transpose_b = true}), mask)), value);
}

Tensor window_by_loop(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window) {
    std::vector<Tensor> outputs;
    const Tensor queries = scaled(query);
    for (std::int64_t i = 0; i < query.size(1); ++i) {
        const std::int64_t first = std::max<std::int64_t>(0, i - window + 1);
        const Tensor scores = matmul(slice(queries, 1, i, i + 1), slice(key, 1, first, i + 1), {.transpose_b = true});
        outputs.push_back(matmul(softmax(scores), slice(value, 1, first, i + 1)));
    }
    return concat(outputs, 1);
}

Tensor window_by_chunks(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window) {
    const std::int64_t heads = query.size(0), time = query.size(1), width = value.size(2);
    const std::int64_t chunks = (time + window - 1) / window, missing = chunks * window - time;
    const auto chunked = [&](const Tensor& x) { return reshape(x, {heads, chunks, window, x.size(2)}); };
    // Chunk c beside the one before it; before the first there are zeros, which the mask hides.
    const auto with_previous = [&](const Tensor& x) {
        const Tensor rows = padded(x, window, missing);
        return concat({chunked(slice(rows, 1, 0, chunks * window)), chunked(slice(rows, 1, window, rows.size(1)))}, 2);
    };
    const Tensor scores = matmul(chunked(padded(scaled(query), 0, missing)), with_previous(key), {.transpose_b = true});
    // Query i of a chunk is row i + window of its 2 · window keys.
    const Tensor mask =
        mask_of({chunks, window, 2 * window}, query.dtype(), [&](std::int64_t chunk, std::int64_t i, std::int64_t j) {
            return j > i && j <= i + window && (chunk > 0 || j >= window);
        });
    const Tensor out = matmul(softmax(add(scores, mask)), with_previous(value));
    return slice(reshape(out, {heads, chunks * window, width}), 1, 0, time);
}

}  // namespace tessera::testing
