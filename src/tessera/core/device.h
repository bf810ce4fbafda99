// Where data lives, and what core needs of a device to keep memory on it. kernels/<device> fills the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/core/error.h"

namespace tessera {

enum class DeviceKind : std::uint8_t { CPU, CUDA };
constexpr int device_kinds = 2;

struct Device {
    DeviceKind kind = DeviceKind::CPU;
    std::uint8_t index = 0;

    bool operator==(const Device&) const = default;
};

inline constexpr Device cpu{DeviceKind::CPU, 0};
inline constexpr Device cuda{DeviceKind::CUDA, 0};

const char* name(DeviceKind kind);
void append_text(std::string& text, Device device);  // "cpu", "cuda:0"

struct DeviceDriver {
    int (*count)();
    void* (*allocate)(std::size_t bytes, int index);  // null when there is no memory left
    void (*release)(void* data, int index);
    // Source and destination may be on the host or on this kind of device. Ordered with the device's kernels.
    void (*copy)(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
    void (*zero)(void* data, std::size_t bytes, int index);
    void (*synchronize)(int index);
};

// Null where the program was built without this kind of device.
const DeviceDriver* find_driver(DeviceKind kind);
const DeviceDriver& driver(DeviceKind kind);
bool available(DeviceKind kind);  // built in, and at least one is there

struct InstallDriver {
    InstallDriver(DeviceKind kind, const DeviceDriver* driver);
};

}  // namespace tessera
