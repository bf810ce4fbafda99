// Three walks over a matrix: its squares into the row and column means, the size of the update those means give, and
// the update itself, clipped by that size. Rows are cut into fixed blocks, so every sum has one order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/adafactor.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_ADAFACTOR_ROW
#define TESSERA_ADAFACTOR_ROW
namespace tessera::kernels::cpu {

// A row's update: gradient · row_factor · column_factor, times `scale`.
template <class T>
struct AdafactorRow {
    T *values, *first_moment;
    const T *gradients, *column_factor;
    T row_factor, scale;
    T beta1, rest1;
    T keep;  // 1 − lr·weight_decay
};

}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// columns += g² + ε; returns the row's sum of g² + ε.
template <class T>
HWY_INLINE double add_squares(const T* gradients, T epsilon, T* columns, std::int64_t count) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto sums = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto gradient = hn::LoadU(d, gradients + i);
        const auto square = hn::MulAdd(gradient, gradient, hn::Set(d, epsilon));
        hn::StoreU(hn::Add(hn::LoadU(d, columns + i), square), d, columns + i);
        sums = hn::Add(sums, square);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < count; ++i) {
        const T square = gradients[i] * gradients[i] + epsilon;
        columns[i] += square;
        sum += square;
    }
    return sum;
}

// Σ (gradient · column_factor)² over a row.
template <class T>
HWY_INLINE double update_squares(const AdafactorRow<T>& row, std::int64_t count) {
    return row::sum<T>(count, [&](auto at) HWY_ATTR {
        const auto update = hn::Mul(at.load(row.gradients), at.load(row.column_factor));
        return hn::Mul(update, update);
    });
}

template <class T>
struct ApplyAt {
    AdafactorRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto factor = hn::Mul(hn::Set(d, row.row_factor), at.load(row.column_factor));
        auto update = hn::Mul(hn::Mul(at.load(row.gradients), factor), hn::Set(d, row.scale));
        if (row.first_moment != nullptr) {
            update =
                hn::MulAdd(hn::Set(d, row.beta1), at.load(row.first_moment), hn::Mul(hn::Set(d, row.rest1), update));
            at.store(update, row.first_moment);
        }
        at.store(hn::Sub(hn::Mul(at.load(row.values), hn::Set(d, row.keep)), update), row.values);
    }
};

double add_squares_f32(const float* g, float epsilon, float* columns, std::int64_t count) {
    return add_squares(g, epsilon, columns, count);
}
double add_squares_f64(const double* g, double epsilon, double* columns, std::int64_t count) {
    return add_squares(g, epsilon, columns, count);
}
double update_squares_f32(const AdafactorRow<float>& row, std::int64_t count) { return update_squares(row, count); }
double update_squares_f64(const AdafactorRow<double>& row, std::int64_t count) { return update_squares(row, count); }
void apply_f32(const AdafactorRow<float>& row, std::int64_t count) { row::walk<float>(count, ApplyAt<float>{row}); }
void apply_f64(const AdafactorRow<double>& row, std::int64_t count) { row::walk<double>(count, ApplyAt<double>{row}); }

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(add_squares_f32);
HWY_EXPORT(add_squares_f64);
HWY_EXPORT(update_squares_f32);
HWY_EXPORT(update_squares_f64);
HWY_EXPORT(apply_f32);
HWY_EXPORT(apply_f64);

template <class T>
struct Rows;
template <>
struct Rows<float> {
    decltype(&HWY_DYNAMIC_DISPATCH(add_squares_f32)) add_squares = &HWY_DYNAMIC_DISPATCH(add_squares_f32);
    decltype(&HWY_DYNAMIC_DISPATCH(update_squares_f32)) update_squares = &HWY_DYNAMIC_DISPATCH(update_squares_f32);
    decltype(&HWY_DYNAMIC_DISPATCH(apply_f32)) apply = &HWY_DYNAMIC_DISPATCH(apply_f32);
};
template <>
struct Rows<double> {
    decltype(&HWY_DYNAMIC_DISPATCH(add_squares_f64)) add_squares = &HWY_DYNAMIC_DISPATCH(add_squares_f64);
    decltype(&HWY_DYNAMIC_DISPATCH(update_squares_f64)) update_squares = &HWY_DYNAMIC_DISPATCH(update_squares_f64);
    decltype(&HWY_DYNAMIC_DISPATCH(apply_f64)) apply = &HWY_DYNAMIC_DISPATCH(apply_f64);
};

constexpr std::int64_t block_rows = 32;

using kernels::AdafactorBuffers;
using kernels::AdafactorStep;

// One parameter as a stack of matrices; a vector is one matrix of one row whose row factor is 1.
template <class T>
class Adafactor {
   public:
    Adafactor(const AdafactorStep& step, const AdafactorBuffers& buffers)
        : step_(step),
          buffers_(buffers),
          factored_(buffers.values.rank() == 3),
          stack_(factored_ ? buffers.values.size(0) : 1),
          rows_(factored_ ? buffers.values.size(1) : 1),
          columns_(buffers.values.size(-1)),
          blocks_((rows_ + block_rows - 1) / block_rows),
          row_factor_(static_cast<std::size_t>(stack_ * rows_), T(1)),
          column_factor_(static_cast<std::size_t>(stack_ * columns_)) {}

    void run() {
        if (buffers_.values.elements() == 0) return;
        if (factored_)
            for (std::int64_t matrix = 0; matrix < stack_; ++matrix) update_means(matrix);
        else
            update_second_moment();
        apply();
    }

   private:
    // Calls body(matrix, row) for every row, in blocks; returns the sum of what it returns.
    template <class Body>
    double over_rows(const Body& body) const {
        std::vector<double> sums(static_cast<std::size_t>(stack_ * blocks_));
        parallel_for(stack_ * blocks_, grain(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t matrix = i / blocks_, first = i % blocks_ * block_rows;
                for (std::int64_t row = first; row < std::min(rows_, first + block_rows); ++row)
                    sums[static_cast<std::size_t>(i)] += body(matrix, row);
            }
        });
        double total = 0;
        for (const double sum : sums) total += sum;
        return total;
    }

    std::int64_t grain() const { return std::max<std::int64_t>(1, 16384 / (block_rows * columns_)); }

    void update_means(std::int64_t matrix) {
        const T beta2 = static_cast<T>(step_.beta2), rest2 = static_cast<T>(1 - step_.beta2);
        const T* gradients = buffers_.gradients.as<T>() + matrix * rows_ * columns_;
        T* row_moment = buffers_.row_moment.as<T>() + matrix * rows_;
        T* column_moment = buffers_.column_moment.as<T>() + matrix * columns_;
        std::vector<T> partial(static_cast<std::size_t>(blocks_ * columns_));
        parallel_for(blocks_, grain(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin * block_rows; row < std::min(rows_, end * block_rows); ++row) {
                const double sum = calls_.add_squares(gradients + row * columns_, static_cast<T>(step_.epsilon_square),
                                                      partial.data() + row / block_rows * columns_, columns_);
                row_moment[row] = beta2 * row_moment[row] + rest2 * static_cast<T>(sum / static_cast<double>(columns_));
            }
        });
        double mean = 0;
        for (std::int64_t row = 0; row < rows_; ++row) mean += row_moment[row];
        mean /= static_cast<double>(rows_);
        for (std::int64_t row = 0; row < rows_; ++row)
            row_factor_[static_cast<std::size_t>(matrix * rows_ + row)] =
                static_cast<T>(std::sqrt(mean / row_moment[row]));
        std::vector<double> sums(static_cast<std::size_t>(columns_));
        for (std::size_t i = 0; i < partial.size(); ++i) sums[i % sums.size()] += partial[i];
        for (std::int64_t column = 0; column < columns_; ++column) {
            const double fresh = sums[static_cast<std::size_t>(column)] / static_cast<double>(rows_);
            column_moment[column] = beta2 * column_moment[column] + rest2 * static_cast<T>(fresh);
            column_factor_[static_cast<std::size_t>(matrix * columns_ + column)] = 1 / std::sqrt(column_moment[column]);
        }
    }

    void update_second_moment() {
        const T beta2 = static_cast<T>(step_.beta2), rest2 = static_cast<T>(1 - step_.beta2);
        const T* gradients = buffers_.gradients.as<T>();
        T* moment = buffers_.second_moment.as<T>();
        for (std::int64_t i = 0; i < columns_; ++i) {
            const T square = gradients[i] * gradients[i] + static_cast<T>(step_.epsilon_square);
            moment[i] = beta2 * moment[i] + rest2 * square;
            column_factor_[static_cast<std::size_t>(i)] = 1 / std::sqrt(moment[i]);
        }
    }

    AdafactorRow<T> row_at(std::int64_t matrix, std::int64_t row) const {
        const std::int64_t first = (matrix * rows_ + row) * columns_;
        return {.values = buffers_.values.as<T>() + first,
                .first_moment = buffers_.first_moment.defined() ? buffers_.first_moment.as<T>() + first : nullptr,
                .gradients = buffers_.gradients.as<T>() + first,
                .column_factor = column_factor_.data() + matrix * columns_,
                .row_factor = row_factor_[static_cast<std::size_t>(matrix * rows_ + row)],
                .scale = 0,
                .beta1 = static_cast<T>(step_.beta1),
                .rest1 = static_cast<T>(1 - step_.beta1),
                .keep = 1};
    }

    void apply() {
        const auto elements = static_cast<double>(buffers_.values.elements());
        const double squares = over_rows([&](std::int64_t matrix, std::int64_t row) {
            const AdafactorRow<T> at = row_at(matrix, row);
            return calls_.update_squares(at, columns_) * at.row_factor * at.row_factor;
        });
        const double clip = std::max(1.0, std::sqrt(squares / elements) / step_.clip_threshold);
        const double learning_rate = step_.learning_rate * parameter_scale();
        over_rows([&](std::int64_t matrix, std::int64_t row) {
            AdafactorRow<T> at = row_at(matrix, row);
            at.scale = static_cast<T>(learning_rate / clip);
            at.keep = static_cast<T>(1 - learning_rate * step_.weight_decay);
            calls_.apply(at, columns_);
            round_row(at.values, (matrix * rows_ + row) * columns_);
            return 0.0;
        });
    }

    double parameter_scale() const {
        if (!step_.scale_parameter) return 1;
        double squares = 0;
        kernels::squared_norm.on(tessera::cpu)(buffers_.values, {&squares, DType::F64, tessera::cpu, {}, {}});
        return std::max(step_.epsilon_scale, std::sqrt(squares / static_cast<double>(buffers_.values.elements())));
    }

    void round_row(const T* values, std::int64_t first) const {
        if constexpr (std::is_same_v<T, float>) {
            if (buffers_.rounded.defined() && buffers_.rounded.dtype == DType::BF16)
                from_float(values, buffers_.rounded.as<BFloat16>() + first, columns_);
            else if (buffers_.rounded.defined())
                from_float(values, buffers_.rounded.as<Float16>() + first, columns_);
        }
    }

    const AdafactorStep& step_;
    const AdafactorBuffers& buffers_;
    const Rows<T> calls_;
    const bool factored_;
    const std::int64_t stack_, rows_, columns_, blocks_;
    std::vector<T> row_factor_, column_factor_;
};

void adafactor_on_cpu(const AdafactorStep& step, const AdafactorBuffers& buffers) {
    const DType dtype = buffers.values.dtype;
    check(dtype == DType::F32 || dtype == DType::F64, "adafactor: state must be f32 or f64, not ", dtype);
    if (dtype == DType::F32)
        Adafactor<float>(step, buffers).run();
    else
        Adafactor<double>(step, buffers).run();
}

const RegisterKernel register_adafactor{kernels::adafactor, DeviceKind::CPU, adafactor_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
