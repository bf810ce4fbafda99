#include "tessera/kernels/quantised_gemv.h"

#include <algorithm>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/gemv.h"
#include "tessera/kernels/cpu/quantised_rows.h"
#include "tessera/kernels/cpu/scratch.h"

namespace tessera::kernels::cpu {
namespace {

constexpr std::int64_t most_rows = 32;
constexpr std::int64_t near_cache = std::int64_t{1} << 15;  // decoded values that stay close by

void quantised_gemv_on_cpu(const View& x, const View& weight, const View& bias, const View& out) {
    const std::int64_t vectors = x.shape[0], length = x.shape[1], rows = weight.shape[0];
    if (out.elements() == 0) return;
    check(vectors <= kernels::most_quantised_vectors && x.is_contiguous(), "quantised_gemv: x of ", x.shape,
          " is not few dense rows");
    const QuantisedRows blocks(weight, "quantised_gemv");
    const DTypeInfo& facts = info(weight.dtype);
    const std::int64_t step =
        std::clamp<std::int64_t>(near_cache / std::max<std::int64_t>(1, length) / 4 * 4, 4, most_rows);
    const std::int64_t grain = std::max<std::int64_t>(1, 32768 / (step * std::max<std::int64_t>(1, length)));
    parallel_for((rows + step - 1) / step, grain, [&](std::int64_t begin, std::int64_t end) {
        const Scratch<float> room(step * length);
        float dots[most_rows * kernels::most_quantised_vectors];
        for (std::int64_t piece = begin; piece < end; ++piece) {
            const std::int64_t first = piece * step, here = std::min(step, rows - first);
            for (std::int64_t r = 0; r < here; ++r)
                facts.codec->decode(blocks.row(first + r), room.data() + r * length, length / facts.block_elements);
            row_dots({.weight = room.data(),
                      .dtype = DType::F32,
                      .leading = length,
                      .rows = here,
                      .length = length,
                      .x = x.as<float>(),
                      .count = vectors,
                      .out = dots});
            for (std::int64_t r = 0; r < here; ++r) {
                const float shift = bias.defined() ? bias.as<float>()[(first + r) * bias.strides[0]] : 0;
                for (std::int64_t m = 0; m < vectors; ++m)
                    out.as<float>()[m * out.strides[0] + (first + r) * out.strides[1]] = dots[r * vectors + m] + shift;
            }
        }
    });
}

const RegisterKernel register_quantised_gemv{kernels::quantised_gemv, DeviceKind::CPU, quantised_gemv_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
