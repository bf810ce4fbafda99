// Rows are walked in blocks that stay in the nearest cache; the log-sum is kept as a running maximum and a sum scaled
// to it, so a row is read once forward and once backward.
#include "tessera/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/cross_entropy.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

// Highway's Exp turns NaN into 0, and a diverged run would go on unseen.
HWY_INLINE hn::Vec<Floats> exp_or_nan(Floats d, hn::Vec<Floats> x) {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

float largest(const float* HWY_RESTRICT x, std::int64_t count) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
    float result = hn::GetLane(hn::MaxOfLanes(d, most));
    for (; i < count; ++i) result = x[i] > result ? x[i] : result;
    return result;
}

double sum_of_exp(const float* HWY_RESTRICT x, std::int64_t count, float shift) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto sum = hn::Zero(d), more = hn::Zero(d);
    const auto shifts = hn::Set(d, shift);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        sum = hn::Add(sum, exp_or_nan(d, hn::Sub(hn::LoadU(d, x + i), shifts)));
        more = hn::Add(more, exp_or_nan(d, hn::Sub(hn::LoadU(d, x + i + lanes), shifts)));
    }
    double result = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, more)));
    for (; i < count; ++i) result += std::exp(x[i] - shift);
    return result;
}

// out = weight · exp(x − shift) − offset
void scaled_exp(const float* HWY_RESTRICT x, std::int64_t count, float shift, float weight, float offset, float* out) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto shifts = hn::Set(d, shift), weights = hn::Set(d, weight), offsets = hn::Set(d, offset);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::MulSub(weights, exp_or_nan(d, hn::Sub(hn::LoadU(d, x + i), shifts)), offsets), d, out + i);
    for (; i < count; ++i) out[i] = weight * std::exp(x[i] - shift) - offset;
}

void capped(const float* HWY_RESTRICT x, std::int64_t count, float cap, float* HWY_RESTRICT out) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto caps = hn::Set(d, cap), inverse = hn::Set(d, 1 / cap);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::Mul(caps, hn::Tanh(d, hn::Mul(hn::LoadU(d, x + i), inverse))), d, out + i);
    for (; i < count; ++i) out[i] = cap * std::tanh(x[i] / cap);
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

using kernels::CrossEntropyRule;

HWY_EXPORT(largest);
HWY_EXPORT(sum_of_exp);
HWY_EXPORT(scaled_exp);
HWY_EXPORT(capped);

float block_largest(const float* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(largest)(x, count); }
double block_largest(const double* x, std::int64_t count) { return *std::max_element(x, x + count); }

double block_sum_of_exp(const float* x, std::int64_t count, float shift) {
    return HWY_DYNAMIC_DISPATCH(sum_of_exp)(x, count, shift);
}
double block_sum_of_exp(const double* x, std::int64_t count, double shift) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(x[i] - shift);
    return sum;
}

void block_scaled_exp(const float* x, std::int64_t count, float shift, float weight, float offset, float* out) {
    HWY_DYNAMIC_DISPATCH(scaled_exp)(x, count, shift, weight, offset, out);
}
void block_scaled_exp(const double* x, std::int64_t count, double shift, double weight, double offset, double* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = weight * std::exp(x[i] - shift) - offset;
}

void block_capped(const float* x, std::int64_t count, float cap, float* out) {
    HWY_DYNAMIC_DISPATCH(capped)(x, count, cap, out);
}
void block_capped(const double* x, std::int64_t count, double cap, double* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = cap * std::tanh(x[i] / cap);
}

template <class Compute>
double block_sum(const Compute* x, std::int64_t count) {
    Compute sums[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int lane = 0; lane < 16; ++lane) sums[lane] += x[i + lane];
    double total = 0;
    for (; i < count; ++i) total += static_cast<double>(x[i]);
    for (const Compute sum : sums) total += static_cast<double>(sum);
    return total;
}

constexpr std::int64_t block = 2048;

// One row of logits, block by block, as computed with.
template <class T>
class LogitRow {
   public:
    using Compute = compute_t<T>;
    LogitRow(const View& logits, std::int64_t row, double soft_cap)
        : data_(logits.as<T>() + row * logits.strides[0]),
          classes_(logits.shape[1]),
          cap_(static_cast<Compute>(soft_cap)) {}

    std::int64_t classes() const { return classes_; }
    Compute at(std::int64_t index) const {
        const auto raw = static_cast<Compute>(data_[index]);
        return cap_ > 0 ? cap_ * std::tanh(raw / cap_) : raw;
    }
    // Valid until the next call.
    const Compute* load(std::int64_t first, std::int64_t count) {
        const Compute* values = load_row<Compute>(data_ + first, 1, count, buffer_);
        if (cap_ <= 0) return values;
        block_capped(values, count, cap_, capped_);
        return capped_;
    }

   private:
    const T* data_;
    std::int64_t classes_;
    Compute cap_;
    Compute buffer_[block], capped_[block];
};

template <class T>
void forward_row(LogitRow<T> row, std::int64_t target, const CrossEntropyRule& rule, compute_t<T>& loss,
                 compute_t<T>& log_sum) {
    using Compute = compute_t<T>;
    constexpr Compute lowest = -std::numeric_limits<Compute>::infinity();
    Compute most = lowest;
    double sum = 0, total = 0;
    for (std::int64_t first = 0; first < row.classes(); first += block) {
        const std::int64_t count = std::min(block, row.classes() - first);
        const Compute* values = row.load(first, count);
        if (rule.label_smoothing != 0) total += block_sum(values, count);
        const Compute here = block_largest(values, count);
        if (here > most) {
            sum *= std::exp(static_cast<double>(most) - static_cast<double>(here));
            most = here;
        }
        // Classes at −∞ add exp(−∞) = 0 whatever the shift; a finite one keeps ∞ − ∞ away.
        sum += block_sum_of_exp(values, count, most == lowest ? 0 : most);
    }
    // Written as distances from the largest logit, so that logits of any size leave a loss with all its digits.
    const double beyond_most = std::log(sum), log_total = static_cast<double>(most) + beyond_most;
    const double to_target = static_cast<double>(most) - static_cast<double>(row.at(target));
    double result = (1 - rule.label_smoothing) * (beyond_most + to_target) + rule.z_loss * log_total * log_total;
    if (rule.label_smoothing != 0)
        result += rule.label_smoothing *
                  (beyond_most + (static_cast<double>(most) - total / static_cast<double>(row.classes())));
    loss = static_cast<Compute>(result);
    log_sum = static_cast<Compute>(log_total);
}

template <class T, class Out>
void backward_row(LogitRow<T> row, std::int64_t target, compute_t<T> log_sum, compute_t<T> factor,
                  const CrossEntropyRule& rule, Out* gradient) {
    using Compute = compute_t<T>;
    const auto smoothing = static_cast<Compute>(rule.label_smoothing);
    const Compute weight = factor * (1 + 2 * static_cast<Compute>(rule.z_loss) * log_sum);
    const Compute offset = factor * smoothing / static_cast<Compute>(row.classes());
    Compute buffer[block];
    for (std::int64_t first = 0; first < row.classes(); first += block) {
        const std::int64_t count = std::min(block, row.classes() - first);
        const Compute* values = row.load(first, count);
        block_scaled_exp(values, count, log_sum, weight, offset, buffer);
        if (first <= target && target < first + count) buffer[target - first] -= factor * (1 - smoothing);
        if (rule.soft_cap > 0) {
            const auto inverse = static_cast<Compute>(1 / rule.soft_cap);
            for (std::int64_t i = 0; i < count; ++i) buffer[i] *= 1 - (values[i] * inverse) * (values[i] * inverse);
        }
        store_row<Compute>(buffer, gradient + first, 1, count);
    }
}

void target_scale_on_cpu(const View& targets, std::int64_t vocabulary, std::int64_t ignore_index, const View& scale) {
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < targets.shape[0]; ++i) {
        const std::int64_t target = targets.as<std::int64_t>()[i * targets.strides[0]];
        if (target == ignore_index) continue;
        check(0 <= target && target < vocabulary, "cross_entropy: target ", target, " at position ", i,
              " is outside the vocabulary of ", vocabulary);
        ++counted;
    }
    const double value = counted ? 1.0 / static_cast<double>(counted) : 0;
    if (scale.dtype == DType::F64)
        *scale.as<double>() = value;
    else
        *scale.as<float>() = static_cast<float>(value);
}

std::int64_t rows_at_once(const View& logits) {
    return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, logits.shape[1]));
}

void cross_entropy_on_cpu(const View& logits, const View& targets, const CrossEntropyRule& rule, const View& losses,
                          const View& log_sums) {
    visit_float(logits.dtype, "cross_entropy", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        parallel_for(logits.shape[0], rows_at_once(logits), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t target = targets.as<std::int64_t>()[i * targets.strides[0]];
                Compute &loss = losses.as<Compute>()[i], &log_sum = log_sums.as<Compute>()[i];
                loss = log_sum = 0;
                if (target != rule.ignore_index)
                    forward_row<T>(LogitRow<T>(logits, i, rule.soft_cap), target, rule, loss, log_sum);
            }
        });
    });
}

template <class T, class Out>
void backward_rows(const View& logits, const View& targets, const View& log_sums, const View& factor,
                   const CrossEntropyRule& rule, const View& gradient) {
    using Compute = compute_t<T>;
    parallel_for(logits.shape[0], rows_at_once(logits), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t target = targets.as<std::int64_t>()[i * targets.strides[0]];
            Out* row = gradient.as<Out>() + i * gradient.strides[0];
            if (target == rule.ignore_index)
                std::fill(row, row + gradient.shape[1], Out());
            else
                backward_row<T, Out>(LogitRow<T>(logits, i, rule.soft_cap), target, log_sums.as<Compute>()[i],
                                     *factor.as<Compute>(), rule, row);
        }
    });
}

void cross_entropy_backward_on_cpu(const View& logits, const View& targets, const View& log_sums, const View& factor,
                                   const CrossEntropyRule& rule, const View& gradient) {
    visit_float(logits.dtype, "cross_entropy", [&]<class T>(Type<T>) {
        visit_float(gradient.dtype, "cross_entropy", [&]<class Out>(Type<Out>) {
            backward_rows<T, Out>(logits, targets, log_sums, factor, rule, gradient);
        });
    });
}

const RegisterKernel register_scale{kernels::target_scale, DeviceKind::CPU, target_scale_on_cpu};
const RegisterKernel register_forward{kernels::cross_entropy, DeviceKind::CPU, cross_entropy_on_cpu};
const RegisterKernel register_backward{kernels::cross_entropy_backward, DeviceKind::CPU, cross_entropy_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
