// A slot is an op's contract: a name and a signature over plain views. Each device's file fills it:
//
//     inline Slot<void(const View& x, const View& y)> exp{"exp"};           // kernels/unary.h
//     const RegisterKernel register_exp{kernels::exp, DeviceKind::CPU, exp_on_cpu};       // kernels/cpu/unary.cpp
//     kernels::exp.on(x.device())(x.view(), y.view());                      // ops/unary.cpp
#pragma once

#include <string>
#include <vector>

#include "tessera/core/device.h"
#include "tessera/core/view.h"

namespace tessera {

class SlotBase {
   public:
    const char* name() const { return name_; }
    virtual bool filled(DeviceKind kind) const = 0;
    static const std::vector<const SlotBase*>& all() { return registry(); }

   protected:
    explicit SlotBase(const char* name) : name_(name) { registry().push_back(this); }
    ~SlotBase() = default;

   private:
    static std::vector<const SlotBase*>& registry() {
        static std::vector<const SlotBase*> slots;
        return slots;
    }
    const char* name_;
};

template <class Signature>
class Slot final : public SlotBase {
   public:
    using Kernel = Signature*;

    explicit Slot(const char* name) : SlotBase(name) {}

    bool filled(DeviceKind kind) const override { return kernel(kind) != nullptr; }
    Kernel on(Device device) const {
        check(filled(device.kind), name(), ": no ", device.kind == DeviceKind::CUDA ? "CUDA" : "CPU", " kernel");
        return kernel(device.kind);
    }
    void fill(DeviceKind kind, Kernel kernel) { kernels_[static_cast<int>(kind)] = kernel; }

   private:
    Kernel kernel(DeviceKind kind) const { return kernels_[static_cast<int>(kind)]; }
    Kernel kernels_[device_kinds] = {};
};

struct RegisterKernel {
    template <class Signature>
    RegisterKernel(Slot<Signature>& slot, DeviceKind kind, Signature* kernel) {
        slot.fill(kind, kernel);
    }
};

}  // namespace tessera
