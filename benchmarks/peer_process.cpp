#include "benchmarks/peer_process.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/core/memory.h"

namespace tessera::benchmarks {
namespace {

constexpr int cannot_start = 127;

[[noreturn]] void become(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    for (const std::string& each : environment) putenv(strdup(each.c_str()));
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(strdup(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(cannot_start);
}

}  // namespace

PeerProcess::PeerProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    std::signal(SIGPIPE, SIG_IGN);  // a peer that died is an error to report, not a reason to die
    int to[2], from[2];
    check(pipe(to) == 0 && pipe(from) == 0, "cannot make a pipe to ", command[0]);
    process_ = fork();
    check(process_ >= 0, "cannot start ", command[0]);
    if (process_ == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
        become(command, environment);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
}

PeerProcess::~PeerProcess() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(process_, nullptr, 0);
}

std::string PeerProcess::read_line() {
    std::string line;
    for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
        check(c != EOF, "the peer ended without an answer");
        line += static_cast<char>(c);
    }
    return line;
}

std::string PeerProcess::ask(const std::string& line) {
    std::fputs((line + "\n").c_str(), to_);
    std::fflush(to_);
    return read_line();
}

FinishedProcess run_to_end(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    // What this process has in memory when it forks counts as the other's, too.
    release_cached(cpu);
    malloc_trim(0);
    int from[2];
    check(pipe(from) == 0, "cannot make a pipe to ", command[0]);
    const pid_t process = fork();
    check(process >= 0, "cannot start ", command[0]);
    if (process == 0) {
        dup2(from[1], STDOUT_FILENO);
        for (const int end : from) close(end);
        become(command, environment);
    }
    close(from[1]);
    FinishedProcess finished;
    char buffer[4096];
    for (ssize_t count; (count = read(from[0], buffer, sizeof buffer)) > 0;)
        finished.output.append(buffer, static_cast<std::size_t>(count));
    close(from[0]);
    int status = 0;
    rusage usage{};
    check(wait4(process, &status, 0, &usage) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0, command[0],
          ": failed");
    finished.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    return finished;
}

}  // namespace tessera::benchmarks
