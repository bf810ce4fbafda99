#include "tessera/kernels/slot.h"

#include <array>
#include <map>
#include <string>

namespace tessera {
namespace {

using Kernel = void (*)();

struct Contract {
    const std::type_info* signature = nullptr;
    std::array<Kernel, device_kinds> kernels = {};
};

std::vector<const SlotBase*>& registered() {
    static std::vector<const SlotBase*> slots;
    return slots;
}

Kernel* kernels_of(const char* name, const std::type_info& signature) {
    // Never destroyed: tensors with static lifetime give their memory back through slots.
    static std::map<std::string, Contract>& contracts = *new std::map<std::string, Contract>;
    Contract& contract = contracts[name];
    if (!contract.signature) contract.signature = &signature;
    check(*contract.signature == signature, name, ": there is an op of this name with another signature");
    return contract.kernels.data();
}

}  // namespace

SlotBase::SlotBase(const char* name, const std::type_info& signature)
    : kernels_(kernels_of(name, signature)), name_(name) {
    registered().push_back(this);
}

const std::vector<const SlotBase*>& SlotBase::all() { return registered(); }

}  // namespace tessera
