#include "tessera/models/architecture.h"

namespace tessera::models {
namespace {

std::vector<const Architecture*>& registered() {
    static std::vector<const Architecture*> list;
    return list;
}

}  // namespace

RegisterArchitecture::RegisterArchitecture(const Architecture& architecture) : architecture_(architecture) {
    registered().push_back(&architecture_);
}

std::vector<const Architecture*> RegisterArchitecture::all() { return registered(); }

}  // namespace tessera::models
