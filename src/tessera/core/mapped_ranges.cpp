#include "tessera/core/mapped_ranges.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace tessera {
namespace {

// The handler walks this list while other threads add to it, so that an entry, once there, is used again and never
// freed.
struct Range {
    std::atomic<std::uintptr_t> begin{0}, end{0};  // both 0: free
    char name[1024] = {};
    Range* next = nullptr;
};

std::atomic<Range*> ranges{nullptr};
std::mutex change;
struct sigaction earlier {};

// Of async-signal-safe calls alone. What was meant for the disk and has not taken its name never does: a checkpoint
// that was being written is not there, the one before it is.
void on_bus_error(int signal, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (const Range* range = ranges; range != nullptr; range = range->next) {
        if (address < range->begin || address >= range->end) continue;
        char line[sizeof range->name + 96] = "\ntessera: ";
        std::strcat(line, range->name);
        std::strcat(line, ": was cut short while it was in use, or can no longer be read\n");
        const bool mid_line = isatty(STDERR_FILENO) == 1;  // something may stand on the terminal's line
        const char* text = mid_line ? line : line + 1;
        static std::atomic_flag said;  // several threads may read the same file
        if (said.test_and_set()) ::pause();
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
        _exit(1);
    }
    if ((earlier.sa_flags & SA_SIGINFO) != 0) return earlier.sa_sigaction(signal, info, context);
    if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(signal);
    ::signal(SIGBUS, SIG_DFL);  // the same access faults again
}

void install() {
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, &earlier);
}

Range* free_range() {
    for (Range* range = ranges; range != nullptr; range = range->next)
        if (range->end == 0) return range;
    auto* added = new Range;
    added->next = ranges;
    ranges = added;
    return added;
}

}  // namespace

void add_mapped_range(const void* begin, std::size_t bytes, const std::string& name) {
    static std::once_flag installed;
    std::call_once(installed, install);
    const std::lock_guard lock(change);
    Range* range = free_range();
    const std::size_t count = std::min(name.size(), sizeof range->name - 1);
    std::memcpy(range->name, name.data(), count);
    range->name[count] = '\0';
    range->begin = reinterpret_cast<std::uintptr_t>(begin);
    range->end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
}

void remove_mapped_range(const void* begin) {
    const std::lock_guard lock(change);
    for (Range* range = ranges; range != nullptr; range = range->next)
        if (range->begin == reinterpret_cast<std::uintptr_t>(begin)) {
            range->end = 0;
            range->begin = 0;
            return;
        }
}

}  // namespace tessera
