// A block per row. Rows that lie well move 16 bytes at a time, whatever their dtype.
#include "tessera/kernels/cuda/copy_rows.h"

#include <algorithm>

#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int most_threads = 256;

// Lengths and steps in units.
struct RowSteps {
    std::int64_t width, size;
    std::int64_t from_row, from_element, out_row, out_element, index;
};

template <class Unit, class Index>
__global__ void copy_rows_kernel(const Unit* from, const Index* index, Unit* out, RowSteps steps) {
    const std::int64_t at = index[blockIdx.x * steps.index];
    const bool exists = at >= 0 && at < steps.size;
    from += (exists ? at : 0) * steps.from_row;
    out += blockIdx.x * steps.out_row;
    for (std::int64_t i = threadIdx.x; i < steps.width; i += blockDim.x)
        out[i * steps.out_element] = exists ? from[i * steps.from_element] : Unit{};
}

template <class Unit>
void launch(const View& from, const View& index, const View& out, const RowSteps& steps) {
    const auto rows = static_cast<unsigned>(out.shape[0]);
    const auto threads = static_cast<unsigned>(std::min<std::int64_t>(most_threads, (steps.width + 31) / 32 * 32));
    visit_index(index.dtype, "copy_rows", [&]<class Index>(Type<Index>) {
        copy_rows_kernel<<<rows, threads, 0, stream_of(out.device.index)>>>(
            from.as<const Unit>(), index.as<const Index>(), out.as<Unit>(), steps);
        check_launch("copy_rows");
    });
}

bool moves_in_packs(const View& view, std::int64_t bytes, std::int64_t pack) {
    return view.strides[1] == 1 && view.shape[1] * bytes % pack == 0 && view.strides[0] * bytes % pack == 0 &&
           reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(pack) == 0;
}

}  // namespace

void copy_rows(const View& from, const View& index, const View& out) {
    if (out.elements() == 0) return;
    check(out.shape[0] < std::int64_t{1} << 31, "copy_rows: ", out.shape, " are too many rows");
    RowSteps steps{.width = out.shape[1],
                   .size = from.shape[0],
                   .from_row = from.strides[0],
                   .from_element = from.strides[1],
                   .out_row = out.strides[0],
                   .out_element = out.strides[1],
                   .index = index.strides[0]};
    const std::int64_t bytes = info(out.dtype).block_bytes, pack = sizeof(uint4);
    if (moves_in_packs(from, bytes, pack) && moves_in_packs(out, bytes, pack)) {
        for (std::int64_t* length : {&steps.width, &steps.from_row, &steps.out_row}) *length = *length * bytes / pack;
        return launch<uint4>(from, index, out, steps);
    }
    switch (bytes) {
        case 1: return launch<std::uint8_t>(from, index, out, steps);
        case 2: return launch<std::uint16_t>(from, index, out, steps);
        case 4: return launch<std::uint32_t>(from, index, out, steps);
        default: return launch<std::uint64_t>(from, index, out, steps);
    }
}

}  // namespace tessera::kernels::cuda
