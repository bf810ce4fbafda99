// A slot is an op's contract: a name and a signature over plain views. Each device's file fills it:
//
//     inline Slot<void(const View& x, const View& y)> exp{"exp"};           // kernels/unary.h
//     const RegisterKernel register_exp{kernels::exp, DeviceKind::CPU, exp_on_cpu};       // kernels/cpu/unary.cpp
//     kernels::exp.on(x.device())(x.view(), y.view());                      // ops/unary.cpp
#pragma once

#include <typeinfo>
#include <vector>

#include "tessera/core/device.h"
#include "tessera/core/view.h"

namespace tessera {

class SlotBase {
   public:
    const char* name() const { return name_; }
    bool filled(DeviceKind kind) const { return kernels_[static_cast<int>(kind)] != nullptr; }
    static const std::vector<const SlotBase*>& all();

   protected:
    using AnyKernel = void (*)();

    // Kernels are kept by the slot's name: a program and a shared library may each hold a copy of the same slot. Throws
    // where a slot of this name has another signature.
    SlotBase(const char* name, const std::type_info& signature);
    ~SlotBase() = default;

    AnyKernel* kernels_;  // one per kind of device

   private:
    const char* name_;
};

template <class Signature>
class Slot final : public SlotBase {
   public:
    using Kernel = Signature*;

    explicit Slot(const char* name) : SlotBase(name, typeid(Signature)) {}

    Kernel on(Device device) const {
        check(filled(device.kind), name(), ": no ", device.kind == DeviceKind::CUDA ? "CUDA" : "CPU", " kernel");
        return reinterpret_cast<Kernel>(kernels_[static_cast<int>(device.kind)]);
    }
    void fill(DeviceKind kind, Kernel kernel) {
        kernels_[static_cast<int>(kind)] = reinterpret_cast<AnyKernel>(kernel);
    }
};

struct RegisterKernel {
    template <class Signature>
    RegisterKernel(Slot<Signature>& slot, DeviceKind kind, Signature* kernel) {
        slot.fill(kind, kernel);
    }
};

}  // namespace tessera
