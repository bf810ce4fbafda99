#include "benchmarks/copies.h"

#include <hwy/highway.h>

#include <cstring>

#include "tessera/core/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::benchmarks {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t line = 16;  // floats of a cache line
using Tag = hn::ScalableTag<float>;

void stream(const float* from, float* to, std::int64_t count) {
    const Tag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < count; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
}

// Eight sums side by side: more than enough to outrun memory.
float sum_of(const float* from, std::int64_t count) {
    const Tag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::Vec<Tag> sums[8];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (std::int64_t i = 0; i + 8 * lanes <= count; i += 8 * lanes)
        for (int j = 0; j < 8; ++j) sums[j] = hn::Add(sums[j], hn::Load(d, from + i + j * lanes));
    for (int j = 1; j < 8; ++j) sums[0] = hn::Add(sums[0], sums[j]);
    return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

// Calls body(begin, end) over the floats of a tensor in whole cache lines.
template <class Body>
void over_lines(const Tensor& x, const Body& body) {
    constexpr std::int64_t grain = 1 << 14;
    check(x.elements() % line == 0, "copies: ", x.elements(), " floats do not fill whole cache lines");
    parallel_for(x.elements() / line, grain,
                 [&](std::int64_t begin, std::int64_t end) { body(begin * line, end * line); });
}

}  // namespace

std::vector<Side> copy_sides(const Tensor& from, const Tensor& to) {
    const auto with_memcpy = [from, to] {
        over_lines(from, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to.data<float>() + begin, from.data<float>() + begin,
                        static_cast<std::size_t>(end - begin) * sizeof(float));
        });
    };
    const auto streamed = [from, to] {
        over_lines(from, [&](std::int64_t begin, std::int64_t end) {
            stream(from.data<float>() + begin, to.data<float>() + begin, end - begin);
        });
    };
    return {{"memcpy", with_memcpy}, {"streamed copy", streamed}};
}

void read_in_parallel(const Tensor& from) {
    volatile float kept = 0;
    over_lines(from,
               [&](std::int64_t begin, std::int64_t end) { kept = sum_of(from.data<float>() + begin, end - begin); });
}

}  // namespace tessera::benchmarks
HWY_AFTER_NAMESPACE();
