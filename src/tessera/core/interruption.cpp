#include "tessera/core/interruption.h"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <iterator>

namespace tessera {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

std::atomic<int> asked{0};
struct sigaction before[std::size(signals)];

void ask(int signal) {
    if (signal == SIGPIPE) {  // comes with every write, and nobody sends it to hurry us
        int none = 0;
        asked.compare_exchange_strong(none, signal);
        return;
    }
    asked = signal;
    for (const int other : signals)
        if (other != SIGPIPE) std::signal(other, SIG_DFL);  // the next one does not wait
}

}  // namespace

Interruption::Interruption() {
    asked = 0;
    struct sigaction action {};
    action.sa_handler = ask;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < std::size(signals); ++i) {
        sigaction(signals[i], nullptr, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);  // nohup ignores SIGHUP
    }
}

Interruption::~Interruption() {
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
    asked = 0;
}

int Interruption::signal() { return asked; }

}  // namespace tessera
