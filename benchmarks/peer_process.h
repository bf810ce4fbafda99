// Peers in processes of their own: one that works when asked, a line to its standard input, a line back; and one that
// runs to its end.
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

struct FinishedProcess {
    std::string output;     // what it wrote to its standard output
    double peak_bytes = 0;  // the most memory it had at a time
};
// Throws when the program cannot be started or fails.
FinishedProcess run_to_end(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace tessera::benchmarks
