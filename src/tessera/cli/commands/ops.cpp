// tessera ops: the op × device table.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/kernels/slot.h"

namespace tessera::cli {
namespace {

void print_table(const std::vector<const SlotBase*>& slots) {
    std::printf("%-36s %-5s %s\n", "kernel", "cpu", "cuda");
    for (const SlotBase* slot : slots)
        std::printf("%-36s %-5s %s\n", slot->name(), slot->filled(DeviceKind::CPU) ? "yes" : "-",
                    slot->filled(DeviceKind::CUDA) ? "yes" : "-");
}

void print_json(const std::vector<const SlotBase*>& slots) {
    std::printf("{");
    for (std::size_t i = 0; i < slots.size(); ++i)
        std::printf("%s\"%s\": {\"cpu\": %s, \"cuda\": %s}", i ? ", " : "", slots[i]->name(),
                    slots[i]->filled(DeviceKind::CPU) ? "true" : "false",
                    slots[i]->filled(DeviceKind::CUDA) ? "true" : "false");
    std::printf("}\n");
}

}  // namespace

int ops_command(const std::vector<std::string>& arguments) {
    bool json = false;
    Arguments parser("ops", "Prints every kernel and the devices it is built for.", "tessera ops --json");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    std::vector<const SlotBase*> slots = SlotBase::all();
    std::sort(slots.begin(), slots.end(),
              [](const SlotBase* a, const SlotBase* b) { return std::strcmp(a->name(), b->name()) < 0; });
    json ? print_json(slots) : print_table(slots);
    return 0;
}

}  // namespace tessera::cli
