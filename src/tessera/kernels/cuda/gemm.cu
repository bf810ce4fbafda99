// Matrix products through cuBLASLt. It thinks in columns: our row-major C (M, N) is its column-major Cᵀ (N, M), so it
// is asked for Cᵀ = Bᵀ · Aᵀ, and a transpose of ours is a flag and a leading dimension.
#include "tessera/kernels/gemm.h"

#include <algorithm>
#include <vector>

#include "tessera/kernels/cuda/cublas.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

// How cuBLASLt sees the last two dimensions (rows, columns) of a view: as they lie, or transposed.
bool find_matrix(const View& view, MatrixLayout& matrix) {
    const std::int64_t rows = view.size(-2), columns = view.size(-1);
    const bool rows_are_dense = columns == 1 || view.stride(-1) == 1;
    const bool columns_are_dense = rows == 1 || view.stride(-2) == 1;
    const std::int64_t row_step = rows == 1 ? columns : view.stride(-2);
    const std::int64_t column_step = columns == 1 ? rows : view.stride(-1);
    if (rows_are_dense && row_step >= columns)
        matrix = {.transposed = false, .rows = columns, .columns = rows, .leading = row_step};
    else if (columns_are_dense && column_step >= rows)
        matrix = {.transposed = true, .rows = rows, .columns = columns, .leading = column_step};
    else
        return false;
    matrix.type = cuda_type(view.dtype);
    return true;
}

// A view cuBLASLt can take: the view itself, or a contiguous copy in the dtype that is asked for.
class Operand {
   public:
    Operand(const View& view, DType dtype, bool may_transpose = true)
        : view_(view),
          copy_(view.device, view.dtype == dtype && takes(view, may_transpose) ? 0 : bytes_of(dtype, view.elements())) {
        if (copy_.data() == nullptr) return;
        view_.data = copy_.data();
        view_.dtype = dtype;
        view_.strides = contiguous_strides(view.shape);
    }
    bool is_copy() const { return copy_.data() != nullptr; }
    const View& view() const { return view_; }
    void fill_from(const View& source) const {
        if (is_copy()) kernels::copy.on(view_.device)(source, view_);
    }
    MatrixLayout matrix() const {
        MatrixLayout matrix;
        find_matrix(view_, matrix);
        return matrix;
    }

   private:
    static bool takes(const View& view, bool may_transpose) {
        MatrixLayout matrix;
        return find_matrix(view, matrix) && (may_transpose || !matrix.transposed);
    }

    View view_;
    Workspace<std::byte> copy_;
};

struct BatchDimension {
    std::int64_t size, a_stride, b_stride, c_stride;
};

// Leading dimensions, merged where all three operands allow it, the longest last: that one becomes cuBLASLt's batch.
std::vector<BatchDimension> batch_of(const View& a, const View& b, const View& c) {
    std::vector<BatchDimension> dimensions;
    for (int dim = c.rank() - 3; dim >= 0; --dim) {
        const BatchDimension next{c.shape[dim], a.strides[dim], b.strides[dim], c.strides[dim]};
        if (next.size == 1) continue;
        if (!dimensions.empty()) {
            BatchDimension& last = dimensions.back();
            if (next.a_stride == last.a_stride * last.size && next.b_stride == last.b_stride * last.size &&
                next.c_stride == last.c_stride * last.size) {
                last.size *= next.size;
                continue;
            }
        }
        dimensions.push_back(next);
    }
    std::stable_sort(dimensions.begin(), dimensions.end(),
                     [](const BatchDimension& x, const BatchDimension& y) { return x.size < y.size; });
    return dimensions;
}

void* moved(const View& view, std::int64_t elements) {
    return view.as<std::byte>() + elements * info(view.dtype).block_bytes;
}

void add_bias(const View& bias, const View& c) {
    View stretched{bias.data, bias.dtype, bias.device, c.shape, Shape::of_rank(c.rank())};
    stretched.strides[c.rank() - 1] = bias.stride(0);
    kernels::accumulate.on(c.device)(stretched, c);
}

// The matrices of one cuBLASLt call as a view (batch, M, N).
View piece_of(const View& c, const MatrixProduct& product) {
    return {product.result_data,
            c.dtype,
            c.device,
            {product.batch, c.size(-2), c.size(-1)},
            {product.result.batch_stride, product.result.leading, 1}};
}

bool fuses_bias(const View& bias, const View& c) {
    return bias.dtype == c.dtype && c.dtype != DType::F64 && (bias.size(0) == 1 || bias.stride(0) == 1) &&
           reinterpret_cast<std::uintptr_t>(bias.data) % 16 == 0;
}

// One cuBLASLt call for the innermost dimension, a loop over the others.
void run_batch(MatrixProduct product, const View& a, const View& b, const View& bias, const View& c) {
    std::vector<BatchDimension> dimensions = batch_of(a, b, c);
    if (!dimensions.empty()) {
        const BatchDimension batch = dimensions.back();
        dimensions.pop_back();
        product.batch = batch.size;
        // Swapped, as everything here: cuBLASLt's left operand is our b.
        product.left.batch_stride = batch.b_stride;
        product.right.batch_stride = batch.a_stride;
        product.result.batch_stride = batch.c_stride;
    }
    const bool fused = bias.defined() && fuses_bias(bias, c);
    std::int64_t calls = 1;
    for (const BatchDimension& dimension : dimensions) calls *= dimension.size;
    for (std::int64_t call = 0; call < calls; ++call) {
        std::int64_t rest = call, a_offset = 0, b_offset = 0, c_offset = 0;
        for (const BatchDimension& dimension : dimensions) {
            const std::int64_t index = rest % dimension.size;
            rest /= dimension.size;
            a_offset += index * dimension.a_stride;
            b_offset += index * dimension.b_stride;
            c_offset += index * dimension.c_stride;
        }
        product.left_data = moved(b, b_offset);
        product.right_data = moved(a, a_offset);
        product.result_data = moved(c, c_offset);
        product.bias = fused ? bias.data : nullptr;
        if (fused && multiply(product, c.device.index)) continue;
        product.bias = nullptr;
        multiply(product, c.device.index);
        if (bias.defined()) add_bias(bias, piece_of(c, product));
    }
}

void gemm_on_cuda(const View& a, const View& b, const View& bias, const View& c, const kernels::GemmOptions& options) {
    if (c.elements() == 0) return;
    if (a.size(-1) == 0) {  // an empty sum
        check(options.beta == 0 || options.beta == 1, "gemm: no terms and beta ", options.beta);
        if (options.beta == 0) kernels::fill.on(c.device)(0, c);
        if (bias.defined()) add_bias(bias, c);
        return;
    }
    kernels::count_gemm(a, c);
    const Operand left(a, b.dtype), right(b, b.dtype), result(c, c.dtype, false);
    left.fill_from(a);
    right.fill_from(b);
    if (options.beta != 0) result.fill_from(c);
    run_batch({.left = right.matrix(),
               .right = left.matrix(),
               .result = result.matrix(),
               .alpha = options.alpha,
               .beta = options.beta,
               .double_precision = c.dtype == DType::F64},
              left.view(), right.view(), bias, result.view());
    if (result.is_copy()) kernels::copy.on(c.device)(result.view(), c);
}

const RegisterKernel register_gemm{kernels::gemm, DeviceKind::CUDA, gemm_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
