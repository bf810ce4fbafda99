// Matrix products on the CPU: brings views into a form the piece kernels take, cuts the work, hands out the pieces.
#include "tessera/kernels/gemm.h"

#include <algorithm>
#include <optional>

#include "tessera/core/parallel.h"
#include "tessera/kernels/binary.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/gemm_piece.h"
#include "tessera/kernels/cpu/gemv.h"
#include "tessera/kernels/cpu/scratch.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cpu {
namespace {

using kernels::GemmOptions;

struct Problem {
    View a, b, bias, c;
    GemmOptions options;

    GemmShape shape() const { return {c.size(-2), c.size(-1), a.size(-1)}; }
    std::int64_t batch() const { return c.elements() / (c.size(-2) * c.size(-1)); }
};

// Where the index-th matrix of a batch begins, in elements.
std::int64_t batch_offset(const View& view, std::int64_t index) {
    std::int64_t offset = 0;
    for (int dim = view.rank() - 3; dim >= 0; --dim) {
        offset += index % view.shape[dim] * view.strides[dim];
        index /= view.shape[dim];
    }
    return offset;
}

const std::byte* element(const View& view, std::int64_t offset) {
    return static_cast<const std::byte*>(view.data) + offset * info(view.dtype).block_bytes;
}

// The last two dimensions as a row-major matrix or the transpose of one, if their strides allow.
std::optional<GemmMatrix> as_matrix(const View& view) {
    const std::int64_t rows = view.size(-2), columns = view.size(-1);
    const std::int64_t down = view.stride(-2), across = view.stride(-1);
    if ((across == 1 || columns == 1) && (rows == 1 || down >= columns))
        return GemmMatrix{view.data, rows == 1 ? std::max<std::int64_t>(columns, 1) : down, false};
    if ((down == 1 || rows == 1) && (columns == 1 || across >= rows))
        return GemmMatrix{view.data, columns == 1 ? std::max<std::int64_t>(rows, 1) : across, true};
    return std::nullopt;
}

// The view with its last two dimensions swapped.
View transposed(const View& view) {
    View out = view;
    std::swap(out.shape[view.rank() - 1], out.shape[view.rank() - 2]);
    std::swap(out.strides[view.rank() - 1], out.strides[view.rank() - 2]);
    return out;
}

// A dense copy in another dtype. What is broadcast or transposed stays so: each value is copied once, in order.
class DenseCopy {
   public:
    DenseCopy(const View& from, DType dtype, bool keep_transpose = true, bool copy = true)
        : swap_(keep_transpose && from.rank() >= 2 && from.stride(-2) < from.stride(-1)),
          scratch_(bytes_of(dtype, distinct(from).elements())) {
        const View source = swap_ ? transposed(distinct(from)) : distinct(from);
        view_ = {scratch_.data(), dtype, tessera::cpu, source.shape, contiguous_strides(source.shape)};
        if (copy && source.elements() > 0) kernels::copy.on(tessera::cpu)(source, view_);
        for (int dim = 0; dim + 2 < from.rank(); ++dim)
            if (from.shape[dim] != source.shape[dim]) view_.strides[dim] = 0;
        if (swap_) view_ = transposed(view_);
        view_.shape = from.shape;
    }
    const View& view() const { return view_; }

   private:
    static View distinct(const View& view) {
        View out = view;
        for (int dim = 0; dim + 2 < view.rank(); ++dim)
            if (view.strides[dim] == 0 && view.shape[dim] > 1) out.shape[dim] = 1;
        return out;
    }
    bool swap_;
    Scratch<> scratch_;
    View view_;
};

void run_f64(const Problem& p) {
    for (std::int64_t i = 0; i < p.batch(); ++i)
        gemm_f64({.shape = p.shape(),
                  .a = p.a.as<double>() + batch_offset(p.a, i),
                  .b = p.b.as<double>() + batch_offset(p.b, i),
                  .bias = p.bias.as<double>(),
                  .c = p.c.as<double>() + batch_offset(p.c, i),
                  .a_strides = {p.a.stride(-2), p.a.stride(-1)},
                  .b_strides = {p.b.stride(-2), p.b.stride(-1)},
                  .c_strides = {p.c.stride(-2), p.c.stride(-1)},
                  .bias_stride = p.bias.defined() ? p.bias.stride(0) : 0,
                  .alpha = p.options.alpha,
                  .beta = p.options.beta});
}

// How a product is cut: measured so that a piece is no slower than its share of the whole.
struct Cut {
    std::int64_t rows, columns;  // of one piece
};

Cut cut_for(const GemmShape& shape) {
    constexpr double least_work = 1 << 20;  // multiply-adds per piece, about 20 µs
    Cut cut{shape.rows, shape.columns};
    const auto halved = [](std::int64_t size) { return ((size + 1) / 2 + 15) / 16 * 16; };
    for (int pieces = 1; pieces < 64; pieces *= 2) {
        const double work =
            static_cast<double>(cut.rows) * static_cast<double>(cut.columns) * static_cast<double>(shape.inner);
        if (work < 2 * least_work) break;
        // The first cuts give every core something to do, the very first along the rows where the sum is long and a
        // piece would rearrange more of a than it keeps of b; later cuts must leave pieces that reuse what they load.
        const bool is_first = pieces == 1;
        const bool rows_first = is_first && cut.rows >= 512 && shape.inner > 3 * shape.columns;
        const std::int64_t least = is_first ? 32 : pieces < thread_count() ? 96 : 1024;
        if (!rows_first && halved(cut.columns) >= least && halved(cut.columns) < cut.columns)
            cut.columns = halved(cut.columns);
        else if (halved(cut.rows) >= least && halved(cut.rows) < cut.rows)
            cut.rows = halved(cut.rows);
        else
            break;
    }
    return cut;
}

// All operands are matrices by now: f32, or a and b bf16.
void run_pieces(const Problem& p) {
    const GemmShape shape = p.shape();
    const Cut cut = cut_for(shape);
    const std::int64_t across = (shape.columns + cut.columns - 1) / cut.columns;
    const std::int64_t pieces = across * ((shape.rows + cut.rows - 1) / cut.rows);
    const GemmMatrix a = *as_matrix(p.a), b = *as_matrix(p.b);
    const std::int64_t grain = std::max<std::int64_t>(1, static_cast<std::int64_t>(262144 * pieces / shape.work()));
    parallel_for(p.batch() * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t row = i % pieces / across * cut.rows, column = i % across * cut.columns;
            const std::int64_t item = i / pieces;
            GemmPiece piece{.shape = {std::min(cut.rows, shape.rows - row),
                                      std::min(cut.columns, shape.columns - column), shape.inner},
                            .a = a,
                            .b = b,
                            .c_leading = as_matrix(p.c)->leading,
                            .alpha = static_cast<float>(p.options.alpha),
                            .beta = static_cast<float>(p.options.beta)};
            piece.a.data = element(p.a, batch_offset(p.a, item) + a.offset(row, 0));
            piece.b.data = element(p.b, batch_offset(p.b, item) + b.offset(0, column));
            piece.c = const_cast<std::byte*>(element(p.c, batch_offset(p.c, item) + row * piece.c_leading + column));
            if (p.bias.defined()) piece.bias = element(p.bias, column);
            if (p.a.dtype == DType::F32)
                gemm_f32(piece);
            else
                gemm_bf16(piece, p.c.dtype);
        }
    });
}

constexpr std::int64_t most_vectors = 128;

// c = alpha · dots + beta · c + bias, where c(i, j) = dots[j · rows of x + i]; swapped: the weight is a.
struct FewVectors {
    const Problem& problem;
    const View& x;       // (…, count, K)
    const View& weight;  // (…, rows, K), rows of stride 1
    std::int64_t c_row_stride, c_vector_stride, bias_row_stride, bias_vector_stride;
};

template <class T>
void write_dots(const FewVectors& p, const float* dots, std::int64_t item, std::int64_t first, std::int64_t rows) {
    const GemmOptions& options = p.problem.options;
    const auto alpha = static_cast<float>(options.alpha), beta = static_cast<float>(options.beta);
    const std::int64_t count = p.x.size(-2);
    T* c = p.problem.c.as<T>() + batch_offset(p.problem.c, item);
    const T* bias = p.problem.bias.as<T>();
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t m = 0; m < count; ++m) {
            T& home = c[(first + r) * p.c_row_stride + m * p.c_vector_stride];
            float value = alpha * dots[r * count + m];
            if (beta != 0) value += beta * static_cast<float>(home);
            if (bias) value += static_cast<float>(bias[(first + r) * p.bias_row_stride + m * p.bias_vector_stride]);
            home = convert<float, T>(value);
        }
}

void run_few_vectors(const FewVectors& p) {
    constexpr std::int64_t block = 32;  // weight rows at a time
    const View& weight = p.weight;
    const std::int64_t count = p.x.size(-2), length = p.x.size(-1), rows = weight.size(-2);
    const std::int64_t blocks = (rows + block - 1) / block;
    const DenseCopy x(p.x, DType::F32, false);
    parallel_for(p.problem.batch() * blocks,
                 std::max<std::int64_t>(1, 32768 / (block * std::max<std::int64_t>(length, 1))),
                 [&](std::int64_t begin, std::int64_t end) {
                     float dots[block * most_vectors];
                     for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t item = i / blocks, first = i % blocks * block;
                         const std::int64_t here = std::min(block, rows - first);
                         row_dots({.weight = element(weight, batch_offset(weight, item) + first * weight.stride(-2)),
                                   .dtype = weight.dtype,
                                   .leading = weight.stride(-2),
                                   .rows = here,
                                   .length = length,
                                   .x = x.view().as<float>() + batch_offset(x.view(), item),
                                   .count = count,
                                   .out = dots});
                         visit_float(p.problem.c.dtype, "gemm",
                                     [&]<class T>(Type<T>) { write_dots<T>(p, dots, item, first, here); });
                     }
                 });
}

bool rows_are_dense(const View& view) { return view.stride(-1) == 1 || view.size(-1) == 1; }

// Whether dot products, which read the weights once and as they are, beat sgemm, which first rearranges them. Measured:
// up to 32 vectors, and beyond where rows a multiple of 4 KiB apart fall into the same cache sets as it does so. bf16
// products have instructions of their own, and only very few vectors leave them waiting for memory.
bool is_few(const View& x, const View& weight) {
    const std::int64_t vectors = x.size(-2), length = x.size(-1);
    if (!rows_are_dense(weight)) return false;
    if (vectors <= 4) return true;
    if (vectors <= 8 && length >= 128) return true;
    // From here on sgemm is as good unless it has to transpose what dot products take as it is.
    if (!rows_are_dense(x) || length < 128 || (weight.dtype == DType::BF16 && has_gemm_bf16())) return false;
    constexpr std::int64_t near_cache = std::int64_t{1} << 18;  // floats of x that stay close by
    return vectors <= 32 ||
           (weight.stride(-2) % 1024 == 0 && vectors <= most_vectors && vectors * length <= near_cache);
}

// Few rows against a weight whose rows stand in memory as they are summed over, or the mirror image of that.
bool run_as_dots(const Problem& p) {
    const std::int64_t bias_stride = p.bias.defined() ? p.bias.stride(0) : 0;
    const View columns = transposed(p.b);
    if (is_few(p.a, columns)) {
        run_few_vectors({p, p.a, columns, p.c.stride(-1), p.c.stride(-2), bias_stride, 0});
        return true;
    }
    if (is_few(columns, p.a)) {
        run_few_vectors({p, columns, p.a, p.c.stride(-2), p.c.stride(-1), 0, bias_stride});
        return true;
    }
    return false;
}

// Where no kernel takes the operands as they are, dense copies stand in for them.
void run_through_copies(Problem p, DType dtype) {
    std::optional<DenseCopy> a, b, bias, c;
    const View result = p.c;
    const auto unfit = [&](const View& view) { return view.dtype != dtype || !as_matrix(view); };
    if (unfit(p.a)) p.a = a.emplace(p.a, dtype).view();
    if (unfit(p.b)) p.b = b.emplace(p.b, dtype).view();
    const bool c_fits =
        as_matrix(p.c) && !as_matrix(p.c)->transposed && (p.c.dtype == DType::F32 || p.c.dtype == dtype);
    if (!c_fits) p.c = c.emplace(p.c, dtype, false, p.options.beta != 0).view();
    if (p.bias.defined() && (p.bias.dtype != p.c.dtype || p.bias.stride(0) != 1))
        p.bias = bias.emplace(p.bias, p.c.dtype).view();
    run_pieces(p);
    if (c) kernels::copy.on(tessera::cpu)(p.c, result);
}

// An empty sum: c = beta · c + bias.
void run_without_inner(const Problem& p) {
    if (p.options.beta == 0) {
        kernels::fill.on(tessera::cpu)(0, p.c);
    } else if (p.options.beta != 1) {
        const Scratch<> room(8);
        View factor{room.data(), p.c.dtype, tessera::cpu, {}, {}};
        kernels::fill.on(tessera::cpu)(p.options.beta, factor);
        factor.shape = p.c.shape;
        factor.strides = Shape::of_rank(p.c.rank(), 0);
        kernels::mul.on(tessera::cpu)(p.c, factor, p.c);
    }
    if (!p.bias.defined()) return;
    View bias = p.bias;
    bias.shape = p.c.shape;
    bias.strides = Shape::of_rank(p.c.rank(), 0);
    bias.strides[p.c.rank() - 1] = p.bias.stride(0);
    kernels::accumulate.on(tessera::cpu)(bias, p.c);
}

void gemm_on_cpu(const View& a, const View& b, const View& bias, const View& c, const GemmOptions& options) {
    const Problem p{a, b, bias, c, options};
    if (c.elements() == 0) return;
    if (a.size(-1) == 0) return run_without_inner(p);
    kernels::count_gemm(a, c);
    if (a.dtype == DType::F64) return run_f64(p);
    if (run_as_dots(p)) return;
    const bool in_bf16 = a.dtype == DType::BF16 && has_gemm_bf16() && (options.alpha == 1 || !bias.defined());
    run_through_copies(p, in_bf16 ? DType::BF16 : DType::F32);
}

const RegisterKernel register_gemm{kernels::gemm, DeviceKind::CPU, gemm_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
