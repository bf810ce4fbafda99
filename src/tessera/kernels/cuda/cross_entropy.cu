// Cross entropy of rows of logits. Forward reads a row once; backward is one pass over all elements. Checking targets
// has to wait for the device: it may have to throw.
#include "tessera/kernels/cross_entropy.h"

#include "tessera/kernels/cuda/softmax_rows.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::CrossEntropyRule;

constexpr int threads = norm_threads;

// How many targets count, and the first position of one that is out of range (or the number of targets).
struct TargetFacts {
    std::int64_t counted, first_wrong, wrong_target;
};

__global__ void __launch_bounds__(threads)
    target_kernel(const std::int64_t* targets, std::int64_t count, std::int64_t stride, std::int64_t vocabulary,
                  std::int64_t ignore_index, TargetFacts* facts, double* wide_scale, float* scale) {
    std::int64_t counted = 0, first_wrong = count;
    for (std::int64_t i = threadIdx.x; i < count; i += threads) {
        const std::int64_t target = targets[i * stride];
        if (target == ignore_index) continue;
        ++counted;
        if (target < 0 || target >= vocabulary) first_wrong = ::min(first_wrong, i);
    }
    counted = group_sum<threads>(counted);
    first_wrong = -group_max<threads>(-first_wrong);
    if (threadIdx.x != 0) return;
    const double value = counted != 0 ? 1.0 / static_cast<double>(counted) : 0.0;
    if (wide_scale != nullptr)
        *wide_scale = value;
    else
        *scale = static_cast<float>(value);
    *facts = {counted, first_wrong, first_wrong < count ? targets[first_wrong * stride] : 0};
}

void target_scale_on_cuda(const View& targets, std::int64_t vocabulary, std::int64_t ignore_index, const View& scale) {
    const Device device = scale.device;
    const std::int64_t count = targets.shape[0];
    const Workspace<TargetFacts> on_device(device, 1);
    const bool wide = scale.dtype == DType::F64;
    target_kernel<<<1, threads, 0, stream_of(device.index)>>>(
        targets.as<const std::int64_t>(), count, targets.strides[0], vocabulary, ignore_index, on_device.data(),
        wide ? scale.as<double>() : nullptr, wide ? nullptr : scale.as<float>());
    check_launch("target_scale");
    TargetFacts facts;
    driver(DeviceKind::CUDA).copy(&facts, cpu, on_device.data(), device, sizeof(facts));
    check(facts.first_wrong == count, "cross_entropy: target ", facts.wrong_target, " at position ", facts.first_wrong,
          " is outside the vocabulary of ", vocabulary);
}

template <class T>
struct Task {
    using Compute = compute_t<T>;
    const T* logits;
    std::int64_t logits_stride, rows;
    int classes;
    const std::int64_t* targets;
    std::int64_t targets_stride;
    Compute *losses, *log_sums;
    CrossEntropyRule rule;
    Compute cap;

    __device__ std::int64_t target(std::int64_t row) const { return targets[row * targets_stride]; }
    __device__ Compute capped(Compute logit) const { return cap > 0 ? cap * ::tanh(logit / cap) : logit; }
    // `size` logits of a row as computed with.
    template <int size>
    __device__ Values<Compute, size> load(std::int64_t row, int column) const {
        auto values = load_row_pack<size>(logits + row * logits_stride + column);
#pragma unroll
        for (int k = 0; k < size; ++k) values.value[k] = capped(values.value[k]);
        return values;
    }
};

template <class T, int size, int group>
__global__ void __launch_bounds__(threads) forward_kernel(const __grid_constant__ Task<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = std::int64_t{blockIdx.x} * (threads / group) + threadIdx.x / group;
    if (row >= task.rows) return;  // a whole group leaves together
    const std::int64_t target = task.target(row);
    const bool leads = threadIdx.x % group == 0;
    if (target == task.rule.ignore_index) {
        if (leads) task.losses[row] = task.log_sums[row] = 0;
        return;
    }
    const double smoothing = task.rule.label_smoothing;
    double sum = 0;
    const RowTotal<Compute> all = row_total<size, group, Compute>(task.classes, [&](int column) {
        const auto values = task.template load<size>(row, column);
        if (smoothing != 0) {
#pragma unroll
            for (int k = 0; k < size; ++k) sum += values.value[k];  // rows in packs are whole packs
        }
        return values;
    });
    if (smoothing != 0) sum = group_sum<group>(sum);
    if (!leads) return;
    // Written as distances from the largest logit, so that logits of any size leave a loss with all its digits.
    const double most = all.largest, beyond_most = ::log(static_cast<double>(all.total)),
                 log_total = most + beyond_most;
    const double to_target = most - task.template load<1>(row, static_cast<int>(target)).value[0];
    double loss = (1 - smoothing) * (beyond_most + to_target) + task.rule.z_loss * log_total * log_total;
    if (smoothing != 0) loss += smoothing * (beyond_most + (most - sum / task.classes));
    task.losses[row] = static_cast<Compute>(loss);
    task.log_sums[row] = static_cast<Compute>(log_total);
}

template <class Out>
struct Gradient {
    Out* data;
    std::int64_t stride;
};

template <class T, class Out, int size>
__global__ void __launch_bounds__(threads)
    backward_kernel(const __grid_constant__ Task<T> task, const compute_t<T>* factor_at, Gradient<Out> gradient) {
    using Compute = compute_t<T>;
    const std::int64_t row = blockIdx.x, target = task.target(row);
    const bool ignored = target == task.rule.ignore_index;
    const Compute log_sum = task.log_sums[row], factor = *factor_at;
    const auto smoothing = static_cast<Compute>(task.rule.label_smoothing);
    const Compute weight = factor * (1 + 2 * static_cast<Compute>(task.rule.z_loss) * log_sum);
    const Compute offset = factor * smoothing / static_cast<Compute>(task.classes);
    const Compute inverse_cap = 1 / task.cap;
    for (int column = threadIdx.x * size; column < task.classes; column += threads * size) {
        const auto values = task.template load<size>(row, column);
        Pack<Out, size> out;
#pragma unroll
        for (int k = 0; k < size; ++k) {
            Compute value = weight * ::exp(values.value[k] - log_sum) - offset;
            if (column + k == target) value -= factor * (1 - smoothing);
            if (task.cap > 0) value *= 1 - (values.value[k] * inverse_cap) * (values.value[k] * inverse_cap);
            out.value[k] = convert_to<Out>(ignored ? Compute(0) : value);
        }
        *reinterpret_cast<Pack<Out, size>*>(gradient.data + row * gradient.stride + column) = out;
    }
}

template <class T>
Task<T> task_of(const View& logits, const View& targets, const CrossEntropyRule& rule, const View& losses,
                const View& log_sums) {
    using Compute = compute_t<T>;
    check(logits.shape[1] < std::int64_t{1} << 30, "cross_entropy: ", logits.shape[1], " classes are too many");
    return {.logits = logits.as<const T>(),
            .logits_stride = logits.strides[0],
            .rows = logits.shape[0],
            .classes = static_cast<int>(logits.shape[1]),
            .targets = targets.as<const std::int64_t>(),
            .targets_stride = targets.strides[0],
            .losses = losses.as<Compute>(),
            .log_sums = log_sums.as<Compute>(),
            .rule = rule,
            .cap = static_cast<Compute>(rule.soft_cap)};
}

void cross_entropy_on_cuda(const View& logits, const View& targets, const CrossEntropyRule& rule, const View& losses,
                           const View& log_sums) {
    if (logits.elements() == 0) return;
    visit_float(logits.dtype, "cross_entropy", [&]<class T>(Type<T>) {
        const Task<T> task = task_of<T>(logits, targets, rule, losses, log_sums);
        const bool packs = rows_pack<T>(task.classes, {task.logits_stride}, {task.logits});
        choose_row_kernel<T>(packs, task.classes, [&]<int size, int group>(RowKernel<size, group>) {
            forward_kernel<T, size, group>
                <<<ceil_divide(task.rows, threads / group), threads, 0, stream_of(logits.device.index)>>>(task);
        });
        check_launch("cross_entropy");
    });
}

template <class T, class Out>
void run_backward(const View& logits, const View& targets, const View& log_sums, const View& factor,
                  const CrossEntropyRule& rule, const View& gradient) {
    constexpr int size = 16 / std::max(sizeof(T), sizeof(Out));
    const Task<T> task = task_of<T>(logits, targets, rule, {}, log_sums);
    const Gradient<Out> out{gradient.as<Out>(), gradient.strides[0]};
    const bool packs = rows_pack<T>(task.classes, {task.logits_stride}, {task.logits}) &&
                       rows_pack<Out>(task.classes, {out.stride}, {out.data});
    const auto* at = factor.as<const compute_t<T>>();
    const cudaStream_t stream = stream_of(logits.device.index);
    const auto blocks = static_cast<unsigned>(task.rows);
    if (packs)
        backward_kernel<T, Out, size><<<blocks, threads, 0, stream>>>(task, at, out);
    else
        backward_kernel<T, Out, 1><<<blocks, threads, 0, stream>>>(task, at, out);
    check_launch("cross_entropy_backward");
}

void cross_entropy_backward_on_cuda(const View& logits, const View& targets, const View& log_sums, const View& factor,
                                    const CrossEntropyRule& rule, const View& gradient) {
    if (logits.elements() == 0) return;
    visit_float(logits.dtype, "cross_entropy", [&]<class T>(Type<T>) {
        visit_float(gradient.dtype, "cross_entropy", [&]<class Out>(Type<Out>) {
            run_backward<T, Out>(logits, targets, log_sums, factor, rule, gradient);
        });
    });
}

const RegisterKernel register_scale{kernels::target_scale, DeviceKind::CUDA, target_scale_on_cuda};
const RegisterKernel register_forward{kernels::cross_entropy, DeviceKind::CUDA, cross_entropy_on_cuda};
const RegisterKernel register_backward{kernels::cross_entropy_backward, DeviceKind::CUDA,
                                       cross_entropy_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
