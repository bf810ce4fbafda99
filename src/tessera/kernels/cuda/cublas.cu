#include "tessera/kernels/cuda/cublas.h"

#include <cublasLt.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "tessera/kernels/cuda/stream.h"

namespace tessera::kernels::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* call) {
    check(status == CUBLAS_STATUS_SUCCESS, call, ": ", cublasLtGetStatusString(status));
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper

// All that the choice of an algorithm depends on.
using Key = std::array<std::int64_t, 20>;

// A device's handle, workspace and the algorithms found so far. The workspace is shared by all products of the device:
// they run one after another on its stream.
struct Cublas {
    cublasLtHandle_t handle = nullptr;
    void* workspace = nullptr;
    std::mutex mutex;
    std::map<Key, std::optional<cublasLtMatmulAlgo_t>> algorithms;  // empty where there is none

    explicit Cublas(int device_index) {
        stream_of(device_index);
        check_cublas(cublasLtCreate(&handle), "cublasLtCreate");
        check_cuda(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc of the cuBLASLt workspace");
    }
};

Cublas& cublas_of(int device_index) {
    static auto* opened = new std::map<int, Cublas>();  // never destroyed: the driver may be gone before it
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    return opened->try_emplace(device_index, device_index).first->second;
}

// Largest power of two that divides the address; cuBLASLt would otherwise take 256 for granted.
std::uint32_t alignment_of(const void* data) {
    const auto address = reinterpret_cast<std::uintptr_t>(data) | 256;
    return static_cast<std::uint32_t>(address & (~address + 1));
}

// cuBLASLt's description of a product. It lives on the stack: nothing is allocated per call.
struct Description {
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t left, right, result;

    explicit Description(const MatrixProduct& product) {
        const bool wide = product.double_precision;
        check_cublas(cublasLtMatmulDescInit(&operation, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                            wide ? CUDA_R_64F : CUDA_R_32F),
                     "cublasLtMatmulDescInit");
        set(CUBLASLT_MATMUL_DESC_TRANSA, product.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        set(CUBLASLT_MATMUL_DESC_TRANSB, product.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        if (product.bias != nullptr) {
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
            set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
            set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, product.result.type);
        }
        lay_out(left, product.left, product.batch);
        lay_out(right, product.right, product.batch);
        lay_out(result, product.result, product.batch);
    }

   private:
    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
        check_cublas(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof(value)),
                     "cublasLtMatmulDescSetAttribute");
    }

    static void lay_out(cublasLtMatrixLayoutOpaque_t& layout, const MatrixLayout& matrix, std::int64_t batch) {
        check_cublas(cublasLtMatrixLayoutInit(&layout, matrix.type, static_cast<std::uint64_t>(matrix.rows),
                                              static_cast<std::uint64_t>(matrix.columns), matrix.leading),
                     "cublasLtMatrixLayoutInit");
        if (batch == 1) return;
        const auto count = static_cast<std::int32_t>(batch);
        check_cublas(
            cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
            "cublasLtMatrixLayoutSetAttribute");
        check_cublas(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                      &matrix.batch_stride, sizeof(matrix.batch_stride)),
                     "cublasLtMatrixLayoutSetAttribute");
    }
};

class Preference {
   public:
    Preference() {
        check_cublas(cublasLtMatmulPreferenceInit(&preference_), "cublasLtMatmulPreferenceInit");
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
        // Long sums may be cut, but their parts are added in the compute type and rounded once.
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    }
    template <class Value>
    void set(cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
        check_cublas(cublasLtMatmulPreferenceSetAttribute(&preference_, attribute, &value, sizeof(value)),
                     "cublasLtMatmulPreferenceSetAttribute");
    }
    cublasLtMatmulPreference_t get() { return &preference_; }

   private:
    cublasLtMatmulPreferenceOpaque_t preference_;
};

std::optional<cublasLtMatmulAlgo_t> find_algorithm(Cublas& cublas, Description& description,
                                                   const MatrixProduct& product) {
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(product.left_data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(product.right_data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(product.result_data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(product.result_data));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(cublas.handle, &description.operation, &description.left, &description.right,
                                       &description.result, &description.result, preference.get(), 1, &found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) return std::nullopt;
    return found.algo;
}

// Asking cuBLASLt which algorithm to use takes longer than most products: the answer is kept per shape.
std::optional<cublasLtMatmulAlgo_t> algorithm_for(Cublas& cublas, Description& description,
                                                  const MatrixProduct& product) {
    constexpr std::size_t most_kept = 8192;
    const MatrixLayout &left = product.left, &right = product.right, &result = product.result;
    const Key key{left.transposed,
                  left.rows,
                  left.columns,
                  left.leading,
                  left.batch_stride,
                  left.type,
                  right.transposed,
                  right.columns,
                  right.rows,
                  right.leading,
                  right.batch_stride,
                  result.leading,
                  result.batch_stride,
                  result.type,
                  product.batch,
                  product.bias != nullptr,
                  product.beta != 0,
                  alignment_of(product.left_data),
                  alignment_of(product.right_data),
                  alignment_of(product.result_data)};
    const std::lock_guard lock(cublas.mutex);
    const auto known = cublas.algorithms.find(key);
    if (known != cublas.algorithms.end()) return known->second;
    if (cublas.algorithms.size() >= most_kept) cublas.algorithms.clear();
    return cublas.algorithms[key] = find_algorithm(cublas, description, product);
}

}  // namespace

cudaDataType cuda_type(DType dtype) {
    switch (dtype) {
        case DType::F64: return CUDA_R_64F;
        case DType::F32: return CUDA_R_32F;
        case DType::BF16: return CUDA_R_16BF;
        case DType::F16: return CUDA_R_16F;
        default: fail("gemm: needs a float dtype, not ", dtype);
    }
}

bool multiply(const MatrixProduct& product, int device_index) {
    const cudaStream_t stream = stream_of(device_index);
    Cublas& cublas = cublas_of(device_index);
    Description description(product);
    const std::optional<cublasLtMatmulAlgo_t> algorithm = algorithm_for(cublas, description, product);
    if (!algorithm && product.bias != nullptr) return false;
    check(algorithm.has_value(), "cuBLASLt has no algorithm for a product of ", product.result.columns, " by ",
          product.result.rows);
    const float alpha = static_cast<float>(product.alpha), beta = static_cast<float>(product.beta);
    const bool wide = product.double_precision;
    check_cublas(cublasLtMatmul(
                     cublas.handle, &description.operation, wide ? static_cast<const void*>(&product.alpha) : &alpha,
                     product.left_data, &description.left, product.right_data, &description.right,
                     wide ? static_cast<const void*>(&product.beta) : &beta, product.result_data, &description.result,
                     product.result_data, &description.result, &*algorithm, cublas.workspace, workspace_bytes, stream),
                 "cublasLtMatmul");
    return true;
}

}  // namespace tessera::kernels::cuda
