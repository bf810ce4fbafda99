// Single pieces of matrix products through oneDNN: sgemm, and matmul primitives (made once per shape) for bf16 and for
// f32 against a transposed matrix, where they were measured to be faster.
#include <omp.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <dnnl.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tessera/core/error.h"
#include "tessera/kernels/cpu/gemm_piece.h"
#include "tessera/kernels/cpu/scratch.h"

namespace tessera::kernels::cpu {
namespace {

using dnnl::memory;

// Outside a parallel region oneDNN would use every thread: hold it to this one. The setting is the thread's own.
class OneThread {
   public:
    OneThread() : previous_(omp_get_max_threads()) {
        if (previous_ != 1) omp_set_num_threads(1);
    }
    ~OneThread() {
        if (previous_ != 1) omp_set_num_threads(previous_);
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

   private:
    int previous_;
};

// C = beta · C + bias, before the product is added: rows just written are still near when the product reads them.
void start_from_bias(const GemmPiece& piece) {
    const auto* bias = static_cast<const float*>(piece.bias);
    for (std::int64_t i = 0; i < piece.shape.rows; ++i) {
        float* row = static_cast<float*>(piece.c) + i * piece.c_leading;
        if (piece.beta == 0)
            std::copy(bias, bias + piece.shape.columns, row);
        else
            for (std::int64_t j = 0; j < piece.shape.columns; ++j) row[j] = piece.beta * row[j] + bias[j];
    }
}

struct PrimitiveKey {
    std::int64_t rows, columns, inner, a_leading, b_leading, c_leading;
    float alpha, beta;
    bool a_transposed, b_transposed, has_bias;
    DType dtype, c_dtype;  // of a and b, and of c and the bias

    bool operator==(const PrimitiveKey&) const = default;
};

struct HashKey {
    std::size_t operator()(const PrimitiveKey& key) const {
        std::size_t hash = key.a_transposed + 2 * key.b_transposed + 4 * key.has_bias +
                           8 * (key.c_dtype == DType::F32) + 16 * (key.dtype == DType::F32);
        for (const std::int64_t value : {key.rows, key.columns, key.inner, key.a_leading, key.b_leading, key.c_leading})
            hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(value);
        return hash;
    }
};

struct MatmulPrimitive {
    memory::desc a, b, bias, c, scratchpad;
    dnnl::matmul run;
};

// Some virtual machines have AMX and hide the leaf that tells the tiles' sizes: 0 rows of 0 bytes. oneDNN believes
// both, and its bf16 kernels end in an illegal instruction. Without tiles such processors multiply f32 faster than
// bf16.
bool hides_its_tiles() {
#if defined(__x86_64__)
    constexpr unsigned has_tiles = 1u << 24;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & has_tiles)) return false;
    return !__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) || a == 0;
#else
    return false;
#endif
}

const dnnl::engine& engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

memory::desc describe(std::int64_t rows, std::int64_t columns, std::int64_t leading, bool transposed,
                      memory::data_type type) {
    return {{rows, columns}, type, transposed ? memory::dims{1, leading} : memory::dims{leading, 1}};
}

std::shared_ptr<const MatmulPrimitive> make_primitive(const PrimitiveKey& key) {
    const auto type_of = [](DType dtype) {
        return dtype == DType::F32 ? memory::data_type::f32 : memory::data_type::bf16;
    };
    const auto c_type = type_of(key.c_dtype);
    MatmulPrimitive made;
    made.a = describe(key.rows, key.inner, key.a_leading, key.a_transposed, type_of(key.dtype));
    made.b = describe(key.inner, key.columns, key.b_leading, key.b_transposed, type_of(key.dtype));
    made.c = describe(key.rows, key.columns, key.c_leading, false, c_type);
    made.bias = describe(1, key.columns, key.columns, false, c_type);
    dnnl::primitive_attr attributes;
    // Ours, because a primitive is shared between threads and oneDNN's own scratchpad belongs to one.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (key.alpha != 1) attributes.set_output_scales(0, {key.alpha});
    if (key.beta != 0) {
        dnnl::post_ops after;
        after.append_sum(key.beta);
        attributes.set_post_ops(after);
    }
    const auto description = key.has_bias ? dnnl::matmul::desc(made.a, made.b, made.bias, made.c)
                                          : dnnl::matmul::desc(made.a, made.b, made.c);
    const dnnl::matmul::primitive_desc chosen(description, attributes, engine());
    made.scratchpad = chosen.scratchpad_desc();
    made.run = dnnl::matmul(chosen);
    return std::make_shared<const MatmulPrimitive>(std::move(made));
}

std::shared_ptr<const MatmulPrimitive> primitive_for(const PrimitiveKey& key) {
    constexpr std::size_t most_kept = 1024;
    static std::mutex mutex;
    static std::unordered_map<PrimitiveKey, std::shared_ptr<const MatmulPrimitive>, HashKey> kept;
    const std::lock_guard lock(mutex);
    if (const auto found = kept.find(key); found != kept.end()) return found->second;
    if (kept.size() >= most_kept) kept.clear();
    return kept[key] = make_primitive(key);
}

memory at(const memory::desc& description, const void* data) {
    return {description, engine(), const_cast<void*>(data)};
}

void run_primitive(const GemmPiece& piece, DType dtype, DType c_dtype) {
    const GemmShape& shape = piece.shape;
    try {
        const auto primitive = primitive_for({shape.rows, shape.columns, shape.inner, piece.a.leading, piece.b.leading,
                                              piece.c_leading, piece.alpha, piece.beta, piece.a.transposed,
                                              piece.b.transposed, piece.bias != nullptr, dtype, c_dtype});
        const Scratch<> scratch(static_cast<std::int64_t>(primitive->scratchpad.get_size()));
        std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, at(primitive->a, piece.a.data)},
                                                  {DNNL_ARG_WEIGHTS, at(primitive->b, piece.b.data)},
                                                  {DNNL_ARG_DST, at(primitive->c, piece.c)},
                                                  {DNNL_ARG_SCRATCHPAD, at(primitive->scratchpad, scratch.data())}};
        if (piece.bias) arguments.emplace(DNNL_ARG_BIAS, at(primitive->bias, piece.bias));
        dnnl::stream stream(engine());
        primitive->run.execute(stream, arguments);
    } catch (const dnnl::error& error) {
        fail("gemm: oneDNN refused a ", dtype, " product of ", shape.rows, " × ", shape.inner, " × ", shape.columns,
             ": ", error.what());
    }
}

// A weight as linear layers store it, (out, in), against enough rows: the primitive packs it better than sgemm does.
bool is_large_linear(const GemmPiece& piece) {
    const GemmShape& shape = piece.shape;
    return piece.b.transposed && !piece.a.transposed && piece.alpha == 1 && piece.beta == 0 && shape.rows >= 256 &&
           shape.columns >= 256 && shape.inner >= 256;
}

}  // namespace

void gemm_f32(const GemmPiece& piece) {
    const OneThread one_thread;
    if (is_large_linear(piece)) return run_primitive(piece, DType::F32, DType::F32);
    if (piece.bias) start_from_bias(piece);
    const GemmShape& shape = piece.shape;
    const dnnl_status_t status = dnnl_sgemm(
        piece.a.transposed ? 'T' : 'N', piece.b.transposed ? 'T' : 'N', shape.rows, shape.columns, shape.inner,
        piece.alpha, static_cast<const float*>(piece.a.data), piece.a.leading, static_cast<const float*>(piece.b.data),
        piece.b.leading, piece.bias ? 1 : piece.beta, static_cast<float*>(piece.c), piece.c_leading);
    check(status == dnnl_success, "gemm: oneDNN refused a product of ", shape.rows, " × ", shape.inner, " × ",
          shape.columns);
}

void gemm_bf16(const GemmPiece& piece, DType c_dtype) {
    const OneThread one_thread;
    run_primitive(piece, DType::BF16, c_dtype);
}

bool has_gemm_bf16() {
    static const bool has = [] {
        if (hides_its_tiles()) return false;
        try {
            primitive_for({16, 16, 16, 16, 16, 16, 1, 0, false, false, false, DType::BF16, DType::BF16});
            return true;
        } catch (const dnnl::error&) {
            return false;
        }
    }();
    return has;
}

}  // namespace tessera::kernels::cpu
