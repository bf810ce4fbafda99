#include "kernels/dropout.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/cpu/convert.h"

namespace tessera {
namespace {

constexpr int lanes = 16;         // Philox blocks computed side by side
constexpr int group = 4 * lanes;  // random words, one per element

// random_bits(key, 64·index …): plain loops over the blocks, which the compiler turns into vectors.
void random_group(RandomKey key, std::uint64_t index, std::uint32_t* words) {
    std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
    for (int i = 0; i < lanes; ++i) {
        const std::uint64_t counter = index * lanes + static_cast<std::uint64_t>(i);
        c0[i] = static_cast<std::uint32_t>(counter);
        c1[i] = static_cast<std::uint32_t>(counter >> 32);
        c2[i] = static_cast<std::uint32_t>(key.stream);
        c3[i] = static_cast<std::uint32_t>(key.stream >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u)
        for (int i = 0; i < lanes; ++i) {
            const std::uint64_t left = std::uint64_t{0xd2511f53u} * c0[i], right = std::uint64_t{0xcd9e8d57u} * c2[i];
            c0[i] = static_cast<std::uint32_t>(right >> 32) ^ c1[i] ^ k0;
            c2[i] = static_cast<std::uint32_t>(left >> 32) ^ c3[i] ^ k1;
            c1[i] = static_cast<std::uint32_t>(right);
            c3[i] = static_cast<std::uint32_t>(left);
        }
    for (int i = 0; i < lanes; ++i) {
        words[4 * i] = c0[i];
        words[4 * i + 1] = c1[i];
        words[4 * i + 2] = c2[i];
        words[4 * i + 3] = c3[i];
    }
}

template <class T>
void dropout_group(const kernels::DropoutRule& rule, std::int64_t index, std::int64_t count, const T* x, T* out) {
    using Compute = compute_t<T>;
    std::uint32_t words[group];
    Compute values[group], results[group];
    random_group(rule.key, static_cast<std::uint64_t>(index), words);
    const auto scale = static_cast<Compute>(rule.scale);
    const Compute* from = load_row<Compute>(x, 1, count, values);
    Compute* to = result_row<Compute>(out, 1, results);
    for (std::int64_t i = 0; i < count; ++i) to[i] = words[i] >= rule.threshold ? from[i] * scale : Compute(0);
    store_row(to, out, 1, count);
}

void dropout_on_cpu(const kernels::DropoutRule& rule, const View& x, const View& out) {
    const std::int64_t elements = x.elements();
    visit_float(x.dtype, "dropout", [&]<class T>(Type<T>) {
        parallel_for((elements + group - 1) / group, 32, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                dropout_group(rule, i, std::min<std::int64_t>(group, elements - i * group), x.as<T>() + i * group,
                              out.as<T>() + i * group);
        });
    });
}

const Fill fill_dropout{kernels::dropout, DeviceKind::CPU, dropout_on_cpu};

}  // namespace
}  // namespace tessera
