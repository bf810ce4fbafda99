#include "tessera/kernels/dropout.h"

#include <algorithm>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/dropout.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The words of `blocks` Philox blocks from `first` on, in index order; `blocks` is a multiple of any vector's lanes.
// One block per 64-bit lane: the high half of a lane is only cleared where it would be seen.
void random_words(RandomKey key, std::uint64_t first, std::int64_t blocks, std::uint32_t* words) {
    const hn::ScalableTag<std::uint64_t> d;
    const hn::Repartition<std::uint32_t, decltype(d)> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto multiply = [&](auto x, std::uint32_t factor)
                              HWY_ATTR { return hn::MulEven(hn::BitCast(half, x), hn::Set(half, factor)); };
    const auto low_mask = hn::Set(d, 0xffffffffu);
    for (std::int64_t block = 0; block < blocks; block += lanes) {
        auto c0 = hn::Iota(d, first + static_cast<std::uint64_t>(block));
        auto c1 = hn::ShiftRight<32>(c0), c2 = hn::Set(d, key.stream), c3 = hn::Set(d, key.stream >> 32);
        std::uint32_t k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
        for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
            const auto left = multiply(c0, 0xd2511f53u), right = multiply(c2, 0xcd9e8d57u);
            c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(right), c1), hn::Set(d, k0));
            c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(left), c3), hn::Set(d, k1));
            c1 = right;
            c3 = left;
        }
        hn::StoreInterleaved2(hn::Or(hn::And(c0, low_mask), hn::ShiftLeft<32>(c1)),
                              hn::Or(hn::And(c2, low_mask), hn::ShiftLeft<32>(c3)), d,
                              reinterpret_cast<std::uint64_t*>(words + 4 * block));
    }
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(random_words);

constexpr std::int64_t group = 1024;  // elements, a random word for each

template <class T>
void dropout_group(const kernels::DropoutRule& rule, const std::uint32_t* words, std::int64_t count, const T* x,
                   T* out) {
    using Compute = compute_t<T>;
    Compute values[group], results[group];
    const auto scale = static_cast<Compute>(rule.scale);
    const Compute* from = load_row<Compute>(x, 1, count, values);
    Compute* to = result_row<Compute>(out, 1, results);
    for (std::int64_t i = 0; i < count; ++i) to[i] = words[i] >= rule.threshold ? from[i] * scale : Compute(0);
    store_row(to, out, 1, count);
}

void dropout_on_cpu(const kernels::DropoutRule& rule, const View& x, const View& out) {
    const std::int64_t elements = x.elements();
    visit_float(x.dtype, "dropout", [&]<class T>(Type<T>) {
        parallel_for((elements + group - 1) / group, 4, [&](std::int64_t begin, std::int64_t end) {
            alignas(8) std::uint32_t words[group];
            for (std::int64_t i = begin; i < end; ++i) {
                HWY_DYNAMIC_DISPATCH(random_words)
                (rule.key, static_cast<std::uint64_t>(i * (group / 4)), group / 4, words);
                dropout_group(rule, words, std::min(group, elements - i * group), x.as<T>() + i * group,
                              out.as<T>() + i * group);
            }
        });
    });
}

const RegisterKernel register_dropout{kernels::dropout, DeviceKind::CPU, dropout_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
