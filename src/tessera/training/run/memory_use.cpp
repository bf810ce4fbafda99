#include "tessera/training/run/memory_use.h"

#include <sys/resource.h>

#include "tessera/core/memory.h"

namespace tessera::training {

std::int64_t memory_held(Device device) {
    if (device.kind != DeviceKind::CPU) {
        const MemoryStats stats = memory_stats(device);
        return stats.bytes_in_use + stats.bytes_cached;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

ActivationMeter::ActivationMeter(Device device) : device_(device), before_(memory_stats(device).bytes_in_use) {
    reset_peak(device);
}

std::int64_t ActivationMeter::bytes() const { return memory_stats(device_).peak_bytes - before_; }

}  // namespace tessera::training
