// The wish to stop, as Ctrl-C and `kill` send it. Whoever has something to lose looks for it at places where stopping
// is safe; a second one ends the program at once, for which every file is written whole or not at all.
#pragma once

namespace tessera {

// While it lives, SIGINT, SIGTERM, SIGHUP and a closed pipe are such wishes. One lives at a time.
class Interruption {
   public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    static int signal();  // the one that came; 0: none
};

// Thrown where work is given up because of such a wish.
struct Stopped {
    int signal;
};

inline void stop_if_asked() {
    if (const int signal = Interruption::signal()) throw Stopped{signal};
}

}  // namespace tessera
