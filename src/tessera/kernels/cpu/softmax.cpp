// Softmax and log-softmax, row by row, in chunks that fit the first cache. Exponentials are taken relative to their
// chunk's maximum and brought to the row's when they are scaled. The maximum of what comes next (chunk or row) is found
// in the loop that takes exponentials, and large results are written one row late in that same loop: memory is read
// and written while there is something to compute.
#include "tessera/kernels/softmax.h"

#include <cmath>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/rows.h"
#include "tessera/kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_SOFTMAX_ROWS
#define TESSERA_SOFTMAX_ROWS
namespace tessera::kernels::cpu {
namespace {

template <class T>
struct SoftmaxRow {
    const T* x = nullptr;
    const T* next = nullptr;  // the row that will be read after this one
    std::int64_t next_length = 0;
    T* out = nullptr;
    T* scratch = nullptr;  // as long as the row; may be `out`
    std::int64_t length = 0, width = 0;
    bool stream = false;

    // The maximum of the first chunk, if it is known; afterwards that of the next row's.
    bool knows_largest = false;
    T largest = 0;
    // One per chunk: its maximum, and what its terms are multiplied by.
    T* chunk_largest = nullptr;
    T* chunk_factor = nullptr;
    // Softmax only: leave the result in scratch and chunk_factor, to be written together with the next row; and what
    // the row before left.
    bool late = false;
    const T* late_scratch = nullptr;
    const T* late_factor = nullptr;
    T* late_out = nullptr;  // or none
};

// Three of them (this one, the next, the one written late) fit the first cache.
constexpr std::int64_t chunk = 1024;

}  // namespace
}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct ChunkWork {
    const T* x;
    std::int64_t length;
    T largest;
    T* scratch;
    const T* next;
    std::int64_t next_length;
    const T* late_scratch;
    T* late_out;
    T late_factor;
};

// Σ e^(x − largest) over a chunk, each term kept in scratch if `keeps`; and the maximum of `next`. Meanwhile, if
// `late`, the same chunk of the row before is written.
template <bool keeps, bool late, class T>
HWY_INLINE T exponentials(const ChunkWork<T>& w, T& next_largest) {
    using Place = std::conditional_t<late, row::Streamed<T>, row::Whole<T>>;
    const row::Tag<T> d;
    const std::int64_t lanes = row::lanes_of<T>(), step = 4 * lanes, length = w.length;
    const T least = -std::numeric_limits<T>::infinity();
    const auto shift = row::set<T>(w.largest == least ? T(0) : w.largest);  // −∞ alone leaves nothing to subtract
    const auto late_factor = row::set<T>(w.late_factor);
    const auto term = [=, x = w.x, scratch = w.scratch, from = w.late_scratch, out = w.late_out](auto at) HWY_ATTR {
        const auto value = math::quick_exp_of_nonpositive(d, hn::Sub(at.load(x), shift));
        if constexpr (keeps) at.store(value, scratch);
        if constexpr (late) at.write(hn::Mul(at.load(from), late_factor), out);
        return value;
    };
    const auto place = [](std::int64_t at) HWY_ATTR {
        Place result;
        result.i = at;
        return result;
    };
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    auto m0 = row::set<T>(least), m1 = m0, m2 = m0, m3 = m0;
    std::int64_t i = 0;
    for (const T* next = w.next; i + step <= std::min(length, w.next_length); i += step) {
        // Each line three times: a request is dropped where the queue to memory is full, as it is behind streamed
        // writes.
        for (std::int64_t line = 0; line < step; line += 64 / static_cast<std::int64_t>(sizeof(T))) {
            __builtin_prefetch(next + i + 8 * chunk + line, 0, 2);
            __builtin_prefetch(next + i + 4 * chunk + line, 0, 2);
            __builtin_prefetch(next + i + 2 * chunk + line, 0, 2);
        }
        m0 = hn::Max(m0, hn::LoadU(d, next + i));
        s0 = hn::Add(s0, term(place(i)));
        m1 = hn::Max(m1, hn::LoadU(d, next + i + lanes));
        s1 = hn::Add(s1, term(place(i + lanes)));
        m2 = hn::Max(m2, hn::LoadU(d, next + i + 2 * lanes));
        s2 = hn::Add(s2, term(place(i + 2 * lanes)));
        m3 = hn::Max(m3, hn::LoadU(d, next + i + 3 * lanes));
        s3 = hn::Add(s3, term(place(i + 3 * lanes)));
    }
    const T rest_largest = row::maximum(w.next + i, w.next_length - i);
    // The same sums in the same order wherever the loop above had to end.
    for (; i + step <= length; i += step) {
        s0 = hn::Add(s0, term(place(i)));
        s1 = hn::Add(s1, term(place(i + lanes)));
        s2 = hn::Add(s2, term(place(i + 2 * lanes)));
        s3 = hn::Add(s3, term(place(i + 3 * lanes)));
    }
    for (; i + lanes <= length; i += lanes) s0 = hn::Add(s0, term(place(i)));
    if (i < length) {
        const row::Part<T> rest{i, static_cast<std::size_t>(length - i)};
        s1 = hn::Add(s1, hn::IfThenElseZero(rest.mask(), term(rest)));
    }
    const T seen_largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
    next_largest = std::max(seen_largest, rest_largest);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

template <class T>
struct RowTotal {
    T largest, total;  // Σ e^x = total · e^largest
};

// All chunks of a row. Afterwards chunk_factor is what brings each chunk's terms to the row's maximum.
template <bool keeps, bool late, class T>
RowTotal<T> total_of(SoftmaxRow<T>& r) {
    const T least = -std::numeric_limits<T>::infinity();
    T largest = r.knows_largest ? r.largest : row::maximum(r.x, std::min(r.length, chunk));
    RowTotal<T> all{largest, 0};
    for (std::int64_t begin = 0, c = 0; begin < r.length; begin += chunk, ++c) {
        const std::int64_t after = begin + chunk;
        const bool last = after >= r.length;
        r.chunk_largest[c] = largest;
        all.largest = std::max(all.largest, largest);
        const ChunkWork<T> work{.x = r.x + begin,
                                .length = std::min(chunk, r.length - begin),
                                .largest = largest,
                                .scratch = r.scratch + begin,
                                .next = last ? r.next : r.x + after,
                                .next_length = std::min(chunk, last ? r.next_length : r.length - after),
                                .late_scratch = late ? r.late_scratch + begin : nullptr,
                                .late_out = late ? r.late_out + begin : nullptr,
                                .late_factor = late ? r.late_factor[c] : T(0)};
        r.chunk_factor[c] = exponentials<keeps, late>(work, largest);
    }
    r.largest = largest;
    if (all.largest == least) all.largest = 0;
    // In vectors: a call of std::exp for each chunk would take a tenth of the time of a row.
    const row::Tag<T> d;
    const auto row_largest = row::set<T>(all.largest);
    all.total = row::sum<T>((r.length + chunk - 1) / chunk, [&](auto at) HWY_ATTR {
        const auto total = at.load(r.chunk_factor);
        const auto above = hn::Sub(at.load(r.chunk_largest), row_largest);
        const auto factor = math::quick_exp_of_nonpositive(d, above);
        at.store(factor, r.chunk_factor);
        return hn::Mul(total, factor);
    });
    return all;
}

template <class T>
HWY_INLINE void write_scaled(const T* from, const T* factors, T* out, std::int64_t length, bool stream) {
    for (std::int64_t begin = 0, c = 0; begin < length; begin += chunk, ++c)
        row::walk<T>(std::min(chunk, length - begin), stream, out + begin,
                     [factor = row::set<T>(factors[c]), from = from + begin, out = out + begin](auto at)
                         HWY_ATTR { at.write(hn::Mul(at.load(from), factor), out); });
}

template <class T>
void zero_rest(const SoftmaxRow<T>& r) {
    std::fill(r.out + r.length, r.out + r.width, T(0));
}

template <class T>
void softmax_row(SoftmaxRow<T>& r) {
    // After the last row there is only the late one left.
    if (!r.x) return write_scaled(r.late_scratch, r.late_factor, r.late_out, r.width, r.stream);
    const T total = r.late_out ? total_of<true, true>(r).total : total_of<true, false>(r).total;
    for (std::int64_t begin = 0, c = 0; begin < r.length; begin += chunk, ++c)
        r.chunk_factor[c] = total == 0 ? T(0) : r.chunk_factor[c] / total;
    if (r.late) return;
    write_scaled(r.scratch, r.chunk_factor, r.out, r.length, r.stream);
    zero_rest(r);
}

template <class T>
void log_softmax_row(SoftmaxRow<T>& r) {
    const RowTotal<T> all = total_of<false, false>(r);
    const auto largest = row::set<T>(all.largest);
    const auto log_total = row::set<T>(all.total == 0 ? T(0) : std::log(all.total));
    row::walk<T>(r.length, r.stream, r.out, [=, x = r.x, out = r.out](auto at) HWY_ATTR {
        at.write(hn::Sub(hn::Sub(at.load(x), largest), log_total), out);
    });
}

void softmax_f32(SoftmaxRow<float>& r) { softmax_row(r); }
void softmax_f64(SoftmaxRow<double>& r) { softmax_row(r); }
void log_softmax_f32(SoftmaxRow<float>& r) { log_softmax_row(r); }
void log_softmax_f64(SoftmaxRow<double>& r) { log_softmax_row(r); }

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T>
using RowFunction = void(SoftmaxRow<T>&);

struct RowFunctions {
    RowFunction<float>* f32;
    RowFunction<double>* f64;
    bool may_be_late = false;
};

template <class T, class Compute>
class Walk {
   public:
    Walk(const View& x, const View& lengths, const View& out)
        : x_(x),
          out_(out),
          lengths_(lengths),
          width_(x.row_length()),
          rows_(x.rows()),
          has_lengths_(lengths.defined()),
          stream_(std::is_same_v<T, Compute> && out_.stride() == 1 &&
                  worth_streaming_rows(bytes_of(out.dtype, out.elements()), bytes_of(out.dtype, width_))),
          aligned_(out.is_contiguous() && is_aligned(out.data) && width_ * std::int64_t{sizeof(T)} % 64 == 0) {}

    // `may_be_late`: the function knows how to write a row together with the next one.
    void run(RowFunction<Compute>* function, bool may_be_late) const {
        parallel_for(rows_, rows_per_piece(width_), [&](std::int64_t begin, std::int64_t end) {
            const auto buffers = thread_buffers<6, Compute>(width_);
            SoftmaxRow<Compute> r;
            r.width = width_;
            r.stream = stream_;
            r.late = may_be_late && stream_ && aligned_ && !has_lengths_;
            for (std::int64_t i = begin; i < end; ++i) {
                prepare(r, i, end, buffers);
                function(r);
                r.knows_largest = r.next_length > 0 && r.length > 0;
                if (r.late) {
                    r.late_scratch = r.scratch;
                    r.late_factor = r.chunk_factor;
                    r.late_out = r.out;
                } else {
                    store_row<Compute>(r.out, out_[i], out_.stride(), width_);
                }
            }
            r.x = nullptr;
            if (r.late_out) function(r);
        });
    }

   private:
    std::int64_t length(std::int64_t row) const {
        return has_lengths_ ? std::clamp<std::int64_t>(lengths_[row], 0, width_) : width_;
    }

    void prepare(SoftmaxRow<Compute>& r, std::int64_t i, std::int64_t end,
                 const std::array<Compute*, 6>& buffers) const {
        r.length = length(i);
        r.x = r.next = load_row<Compute>(x_[i], x_.stride(), r.length, buffers[0]);
        r.next_length = 0;
        if constexpr (std::is_same_v<T, Compute>) {
            // Rows that need no conversion can be looked at ahead of time.
            if (x_.stride() == 1 && i + 1 < end) {
                r.next = x_[i + 1];
                r.next_length = length(i + 1);
            }
        }
        r.out = result_row<Compute>(out_[i], out_.stride(), buffers[1]);
        // Two rows are under way where one is written late.
        const auto turn = static_cast<std::size_t>(i % 2);
        r.scratch = stream_ ? buffers[1 + turn] : r.out;
        r.chunk_factor = buffers[3 + turn];
        r.chunk_largest = buffers[5];
    }

    Rows<T> x_, out_;
    RowValues<std::int64_t> lengths_;
    std::int64_t width_, rows_;
    bool has_lengths_, stream_, aligned_;
};

void run(const char* name, const View& x, const View& lengths, const View& out, const RowFunctions& functions) {
    visit_float(x.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            Walk<T, double>(x, lengths, out).run(functions.f64, functions.may_be_late);
        else
            Walk<T, float>(x, lengths, out).run(functions.f32, functions.may_be_late);
    });
}

HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(log_softmax_f32);
HWY_EXPORT(log_softmax_f64);

void softmax_on_cpu(const View& x, const View& lengths, const View& out) {
    run("softmax", x, lengths, out, {&HWY_DYNAMIC_DISPATCH(softmax_f32), &HWY_DYNAMIC_DISPATCH(softmax_f64), true});
}

void log_softmax_on_cpu(const View& x, const View& out) {
    run("log_softmax", x, {}, out, {&HWY_DYNAMIC_DISPATCH(log_softmax_f32), &HWY_DYNAMIC_DISPATCH(log_softmax_f64)});
}

const RegisterKernel register_softmax{kernels::softmax, DeviceKind::CPU, softmax_on_cpu};
const RegisterKernel register_log_softmax{kernels::log_softmax, DeviceKind::CPU, log_softmax_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
