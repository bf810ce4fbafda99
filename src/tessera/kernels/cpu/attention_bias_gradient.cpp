// The gradient of an additive bias: the score gradients themselves, summed over the dimensions the bias was stretched
// along. A task owns a piece of the result and goes through everything that adds to it in order.
#include "tessera/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/attention_bias_gradient.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_gradients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {

template <class T>
class BiasGradient {
   public:
    BiasGradient(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views, const View& out)
        : settings_(settings), views_(views), out_(out), sizes_(views.query, views.key, views.value) {}

    void run() const {
        std::fill_n(out_.as<T>(), out_.elements(), T(0));
        if (views_.log_sum.elements() == 0) return;
        const std::int64_t blocks = (sizes_.queries + query_block - 1) / query_block;
        const std::int64_t pieces = out_.shape[2] > 1 ? blocks : 1, blocks_per_piece = blocks / pieces;
        share_tasks(out_.shape[0] * out_.shape[1] * pieces, sizes_.worth_sharing(), [&](auto next) {
            Worker worker{{settings_, views_, sizes_},
                          {settings_, sizes_},
                          KeyRows<T>(views_.key, Side::Left),
                          KeyRows<T>(views_.value, Side::Left)};
            for (std::int64_t task = next(); task >= 0; task = next()) {
                const std::int64_t piece = task % pieces, head = task / pieces % out_.shape[1],
                                   row = task / pieces / out_.shape[1];
                run_piece(worker, row, head, piece * blocks_per_piece, (piece + 1) * blocks_per_piece);
            }
        });
    }

   private:
    // What one core needs to run tasks.
    struct Worker {
        GradientQueries<T> queries;
        GradientTile<T> tile;
        KeyRows<T> keys, values;

        void compute(const QueryBlock& block, std::int64_t first, std::int64_t count) {
            keys.load(block.row, block.key_head, first, count);
            values.load(block.row, block.key_head, first, count);
            tile.compute(queries, keys.left(0), keys.left_stride(), values.left(0), values.left_stride(), first, count);
        }
    };

    void run_piece(Worker& worker, std::int64_t out_row, std::int64_t out_head, std::int64_t first_block,
                   std::int64_t last_block) const {
        const bool every_row = out_.shape[0] == 1, every_head = out_.shape[1] == 1;
        for (std::int64_t row = every_row ? 0 : out_row; row < (every_row ? sizes_.rows : out_row + 1); ++row)
            for (std::int64_t head = every_head ? 0 : out_head; head < (every_head ? sizes_.heads : out_head + 1);
                 ++head)
                for (std::int64_t i = first_block; i < last_block; ++i) {
                    const std::int64_t first = i * query_block;
                    const QueryBlock block(settings_.mask, sizes_, row, head / sizes_.group,
                                           head % sizes_.group * sizes_.queries + first,
                                           std::min(query_block, sizes_.queries - first));
                    add_block(worker, block, out_row, out_head);
                }
    }

    void add_block(Worker& worker, const QueryBlock& block, std::int64_t out_row, std::int64_t out_head) const {
        if (block.any.begin == block.any.end) return;
        worker.queries.start(block);
        const std::int64_t query_stride = out_.shape[2] > 1 ? out_.strides[2] : 0,
                           key_stride = out_.shape[3] > 1 ? out_.strides[3] : 0;
        T* home = out_.as<T>() + out_row * out_.strides[0] + out_head * out_.strides[1];
        for (std::int64_t first = block.any.begin; first < block.any.end; first += key_block) {
            const std::int64_t count = std::min(key_block, block.any.end - first);
            worker.compute(block, first, count);
            for (std::int64_t key = 0; key < count; ++key) {
                const T* gradients = worker.tile.score_gradients() + key * GradientTile<T>::stride;
                T* to = home + (first + key) * key_stride;
                if (query_stride == 0) {
                    T sum = 0;
                    for (std::int64_t i = 0; i < block.count; ++i) sum += gradients[i];
                    *to += sum;
                } else {
                    for (std::int64_t i = 0; i < block.count; ++i)
                        to[block.query[static_cast<std::size_t>(i)] * query_stride] += gradients[i];
                }
            }
        }
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    const View& out_;
    AttentionSizes sizes_;
};

void attention_bias_gradient_f32(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                                 const View& out) {
    BiasGradient<float>(settings, views, out).run();
}
void attention_bias_gradient_f64(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                                 const View& out) {
    BiasGradient<double>(settings, views, out).run();
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(attention_bias_gradient_f32);
HWY_EXPORT(attention_bias_gradient_f64);

void attention_bias_gradient_on_cpu(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                                    const View& out) {
    if (views.query.dtype == DType::F64)
        HWY_DYNAMIC_DISPATCH(attention_bias_gradient_f64)(settings, views, out);
    else
        HWY_DYNAMIC_DISPATCH(attention_bias_gradient_f32)(settings, views, out);
}

const RegisterKernel register_bias_gradient{kernels::attention_bias_gradient, DeviceKind::CPU,
                                            attention_bias_gradient_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
