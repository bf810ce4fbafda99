#include "tessera/core/device.h"

#include <array>

namespace tessera {
namespace {

std::array<const DeviceDriver*, device_kinds>& drivers() {
    static std::array<const DeviceDriver*, device_kinds> installed{};
    return installed;
}

}  // namespace

const char* name(DeviceKind kind) { return kind == DeviceKind::CPU ? "cpu" : "cuda"; }

void append_text(std::string& text, Device device) {
    text += name(device.kind);
    if (device.kind == DeviceKind::CPU) return;
    text += ':';
    append_text(text, int{device.index});
}

const DeviceDriver* find_driver(DeviceKind kind) { return drivers()[static_cast<std::size_t>(kind)]; }

const DeviceDriver& driver(DeviceKind kind) {
    const DeviceDriver* found = find_driver(kind);
    check(found != nullptr, "this program was built without ", name(kind));
    return *found;
}

bool available(DeviceKind kind) {
    const DeviceDriver* found = find_driver(kind);
    return found != nullptr && found->count() > 0;
}

InstallDriver::InstallDriver(DeviceKind kind, const DeviceDriver* driver) {
    drivers()[static_cast<std::size_t>(kind)] = driver;
}

}  // namespace tessera
