// Sums and means. Long sums are cut into parts by shape alone and the parts added in order: the same bits at any thread
// count.
#include <algorithm>
#include <array>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/memory.h"
#include "tessera/kernels/reduce.h"

namespace tessera::kernels::cpu {
namespace {

struct Dimension {
    std::int64_t size, in_stride, out_stride;
};

struct Plan {
    double divisor = 1;                    // of every sum, before it is rounded
    std::vector<Dimension> kept, reduced;  // outermost first; the innermost dimension of `in` is `inner`
    Dimension inner{1, 1, 1};
    bool inner_is_kept = false;
};

Plan plan_for(const View& in, const View& out) {
    Plan plan;
    int innermost = -1;  // the dimension with the smallest stride: walking it is cheapest
    for (int i = 0; i < in.rank(); ++i)
        if (in.shape[i] > 1 && (innermost < 0 || in.strides[i] <= in.strides[innermost])) innermost = i;
    for (int i = 0; i < in.rank(); ++i) {
        if (in.shape[i] == 1) continue;
        const bool kept = out.shape[i] != 1;
        const Dimension dimension{in.shape[i], in.strides[i], kept ? out.strides[i] : 0};
        if (i == innermost) {
            plan.inner = dimension;
            plan.inner_is_kept = kept;
        } else {
            (kept ? plan.kept : plan.reduced).push_back(dimension);
        }
    }
    return plan;
}

std::int64_t product(const std::vector<Dimension>& dimensions) {
    std::int64_t total = 1;
    for (const Dimension& dimension : dimensions) total *= dimension.size;
    return total;
}

struct Offsets {
    std::int64_t in = 0, out = 0;
};

Offsets offsets_of(const std::vector<Dimension>& dimensions, std::int64_t index) {
    Offsets offsets;
    for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
        const std::int64_t i = index % dimension->size;
        index /= dimension->size;
        offsets.in += i * dimension->in_stride;
        offsets.out += i * dimension->out_stride;
    }
    return offsets;
}

constexpr std::int64_t column_block = 1024;  // wide enough that memory is read in long pieces
constexpr std::int64_t short_run = 256;  // rounding errors add up over short runs only; runs are then added in double

template <class T>
double sum_of_run(const T* values, std::int64_t stride, std::int64_t count) {
    using Compute = compute_t<T>;
    constexpr int lanes = 16;
    Compute buffer[short_run];
    double total = 0;
    for (std::int64_t first = 0; first < count; first += short_run) {
        const std::int64_t n = std::min(short_run, count - first);
        const Compute* row = load_row<Compute>(values + first * stride, stride, n, buffer);
        std::array<Compute, lanes> sums{};
        std::int64_t i = 0;
        for (; i + lanes <= n; i += lanes)
            for (int lane = 0; lane < lanes; ++lane) sums[static_cast<std::size_t>(lane)] += row[i + lane];
        Compute sum = 0;
        for (; i < n; ++i) sum += row[i];
        for (const Compute lane : sums) sum += lane;
        total += static_cast<double>(sum);
    }
    return total;
}

template <class T, class Out>
void sum_rows(const View& in, const View& out, const Plan& plan) {
    const std::int64_t rows = product(plan.reduced);
    const std::int64_t work = std::max<std::int64_t>(1, rows * plan.inner.size);
    parallel_for(product(plan.kept), std::max<std::int64_t>(1, 16384 / work),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                         const Offsets start = offsets_of(plan.kept, i);
                         double total = 0;
                         for (std::int64_t row = 0; row < rows; ++row)
                             total += sum_of_run(in.as<T>() + start.in + offsets_of(plan.reduced, row).in,
                                                 plan.inner.in_stride, plan.inner.size);
                         out.as<Out>()[start.out] = convert<double, Out>(total / plan.divisor);
                     }
                 });
}

template <class T, class Out>
void sum_column_block(const View& in, const View& out, const Plan& plan, Offsets start, std::int64_t width) {
    using Compute = compute_t<T>;
    Compute buffer[column_block], short_sum[column_block];
    double total[column_block] = {};
    const std::int64_t rows = product(plan.reduced);
    for (std::int64_t first = 0; first < rows; first += short_run) {
        std::fill_n(short_sum, width, Compute(0));
        for (std::int64_t row = first; row < std::min(rows, first + short_run); ++row) {
            const T* values = in.as<T>() + start.in + offsets_of(plan.reduced, row).in;
            const Compute* line = load_row<Compute>(values, plan.inner.in_stride, width, buffer);
            for (std::int64_t i = 0; i < width; ++i) short_sum[i] += line[i];
        }
        for (std::int64_t i = 0; i < width; ++i) total[i] += static_cast<double>(short_sum[i]);
    }
    for (std::int64_t i = 0; i < width; ++i)
        out.as<Out>()[start.out + i * plan.inner.out_stride] = convert<double, Out>(total[i] / plan.divisor);
}

template <class T, class Out>
void sum_columns(const View& in, const View& out, const Plan& plan) {
    const std::int64_t blocks = (plan.inner.size + column_block - 1) / column_block;
    const std::int64_t work =
        std::max<std::int64_t>(1, product(plan.reduced) * std::min(column_block, plan.inner.size));
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / work);
    parallel_for(product(plan.kept) * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            Offsets start = offsets_of(plan.kept, i / blocks);
            const std::int64_t first = i % blocks * column_block;
            start.in += first * plan.inner.in_stride;
            start.out += first * plan.inner.out_stride;
            sum_column_block<T, Out>(in, out, plan, start, std::min(column_block, plan.inner.size - first));
        }
    });
}

template <class T, class Out>
void sum_whole(const View& in, const View& out, double divisor) {
    Plan plan = plan_for(in, out);
    plan.divisor = divisor;
    if (plan.inner_is_kept)
        sum_columns<T, Out>(in, out, plan);
    else
        sum_rows<T, Out>(in, out, plan);
}

// Few results from many values: cut the longest reduced dimension so that every core has something to do.
int parts_for(const View& in, const View& out, int& dim) {
    constexpr std::int64_t large = 1 << 18, enough_for_every_core = 64;
    dim = -1;
    for (int i = 0; i < in.rank(); ++i)
        if (out.shape[i] == 1 && in.shape[i] > 1 && (dim < 0 || in.shape[i] > in.shape[dim])) dim = i;
    if (dim < 0 || in.elements() < large) return 1;
    const Plan plan = plan_for(in, out);
    const std::int64_t blocks = plan.inner_is_kept ? (plan.inner.size + column_block - 1) / column_block : 1;
    if (product(plan.kept) * blocks >= enough_for_every_core) return 1;
    return static_cast<int>(std::min<std::int64_t>({16, in.shape[dim], in.elements() / (large / 4)}));
}

template <class T>
void sum_in_parts(const View& in, const View& out, double divisor) {
    int dim = -1;
    const int parts = parts_for(in, out, dim);
    if (parts <= 1) return sum_whole<T, T>(in, out, divisor);
    const std::int64_t results = out.elements();
    std::vector<double> partial(static_cast<std::size_t>(parts * results));
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
            const std::int64_t first = in.shape[dim] * part / parts, last = in.shape[dim] * (part + 1) / parts;
            View piece = in;
            piece.data = in.as<T>() + first * in.strides[dim];
            piece.shape[dim] = last - first;
            const View sums{partial.data() + part * results, DType::F64, tessera::cpu, out.shape,
                            contiguous_strides(out.shape)};
            sum_whole<T, double>(piece, sums, 1);
        }
    });
    for (int part = 1; part < parts; ++part)
        for (std::int64_t i = 0; i < results; ++i)
            partial[static_cast<std::size_t>(i)] += partial[static_cast<std::size_t>(part * results + i)];
    for (std::int64_t i = 0; i < results; ++i) partial[static_cast<std::size_t>(i)] /= divisor;
    const View totals{partial.data(), DType::F64, tessera::cpu, out.shape, contiguous_strides(out.shape)};
    kernels::copy.on(tessera::cpu)(totals, out);
}

void sum_on_cpu(const View& in, const View& out) {
    visit_float(in.dtype, "sum", [&]<class T>(Type<T>) { sum_in_parts<T>(in, out, 1); });
}

void mean_on_cpu(const View& in, const View& out) {
    const double count = out.elements() ? static_cast<double>(in.elements()) / static_cast<double>(out.elements()) : 1;
    visit_float(in.dtype, "mean", [&]<class T>(Type<T>) { sum_in_parts<T>(in, out, count); });
}

const RegisterKernel register_sum{kernels::sum, DeviceKind::CPU, sum_on_cpu};
const RegisterKernel register_mean{kernels::mean, DeviceKind::CPU, mean_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
