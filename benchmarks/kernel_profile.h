// Where a computation spends its time, by kernel: while a profile lives, the kernels of the chosen slots run behind a
// clock.
#pragma once

#include <chrono>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tessera/kernels/slot.h"

namespace tessera::benchmarks {

struct KernelTime {
    const char* name;
    int calls = 0;
    double seconds = 0;
};

// One slot's kernel behind a clock, for as long as the object lives. One object a slot at a time.
template <class Signature, Slot<Signature>& slot>
class ClockedKernel;

template <class... Arguments, Slot<void(Arguments...)>& slot>
class ClockedKernel<void(Arguments...), slot> {
   public:
    ClockedKernel() : time_{slot.name()} {
        original_ = slot.on(cpu);
        current_ = &time_;
        slot.fill(DeviceKind::CPU, run);
    }
    ~ClockedKernel() { slot.fill(DeviceKind::CPU, original_); }
    ClockedKernel(const ClockedKernel&) = delete;
    ClockedKernel& operator=(const ClockedKernel&) = delete;

    const KernelTime& time() const { return time_; }

   private:
    static void run(Arguments... arguments) {
        const auto start = std::chrono::steady_clock::now();
        original_(arguments...);
        current_->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        current_->calls += 1;
    }

    inline static void (*original_)(Arguments...) = nullptr;
    inline static KernelTime* current_ = nullptr;
    KernelTime time_;
};

template <class Signature>
struct SignatureOf;
template <class Signature>
struct SignatureOf<Slot<Signature>> {
    using type = Signature;
};

// KernelProfile<kernels::gemm, kernels::sum> profile; …; profile.times();
template <auto&... slots>
class KernelProfile {
   public:
    std::vector<KernelTime> times() const {
        return std::apply([](const auto&... clocked) { return std::vector<KernelTime>{clocked.time()...}; }, clocked_);
    }

   private:
    std::tuple<ClockedKernel<typename SignatureOf<std::remove_cvref_t<decltype(slots)>>::type, slots>...> clocked_;
};

}  // namespace tessera::benchmarks
