// A peer that lives in a process of its own and works when asked: a line to its standard input, a line back.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace tessera::benchmarks {

class PeerProcess {
   public:
    // `environment`: "NAME=value" added to ours. Throws when the program cannot be started.
    PeerProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment);
    ~PeerProcess();  // closes its input, upon which it is expected to end
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    std::string read_line();
    std::string ask(const std::string& line);  // throws when the peer has ended

   private:
    int process_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

}  // namespace tessera::benchmarks
