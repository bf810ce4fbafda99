#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "support/temporary_folder.h"
#include "tessera/core/error.h"

namespace tessera::testing {
namespace {

std::string shown(const std::vector<std::string>& arguments) {
    std::string text = "tessera";
    for (const std::string& argument : arguments) text += text_of(" ", argument);
    return text;
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& in, const std::string& out,
                         const std::string& err) {
    std::vector<char*> words{const_cast<char*>("tessera")};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), flags, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), flags, 0600), STDERR_FILENO);
    alarm(60);  // a program that hangs is ended
    execv(TESSERA_PROGRAM, words.data());
    _exit(127);
}

}  // namespace

Answer run_program(const std::vector<std::string>& arguments, const std::string& input) {
    const TemporaryFolder folder;
    const std::string in = folder.write("in", input), out = folder / "out", err = folder / "err";
    const pid_t child = fork();
    if (child == 0) become(arguments, in, out, err);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

Answer run_on_terminal(const std::vector<std::string>& arguments) {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        std::vector<char*> words{const_cast<char*>("tessera")};
        for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
        words.push_back(nullptr);
        alarm(60);
        execv(TESSERA_PROGRAM, words.data());
        _exit(127);
    }
    std::string shown;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(terminal, buffer, sizeof buffer)) > 0;)
        shown.append(buffer, static_cast<std::size_t>(count));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    close(terminal);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, shown, ""};
}

bool run_and_kill(const std::vector<std::string>& arguments, std::chrono::milliseconds after) {
    const TemporaryFolder folder;
    const std::string in = folder.write("in", ""), out = folder / "out", err = folder / "err";
    const pid_t child = fork();
    if (child == 0) become(arguments, in, out, err);
    std::this_thread::sleep_for(after);
    kill(child, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << folder.read("err");
    return WIFSIGNALED(status);
}

Answer run_and_signal(const std::vector<std::string>& arguments, int signal, const std::function<bool()>& is_time) {
    const TemporaryFolder folder;
    const std::string in = folder.write("in", ""), out = folder / "out", err = folder / "err";
    const pid_t child = fork();
    if (child == 0) become(arguments, in, out, err);
    int status = 0;
    while (!is_time())
        if (waitpid(child, &status, WNOHANG) == child) {
            ADD_FAILURE() << "ended before it was time: " << folder.read("err");
            return {-1, folder.read("out"), folder.read("err")};
        }
    kill(child, signal);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

int run_in_shell(const std::string& command) {
    setenv("TESSERA", TESSERA_PROGRAM, 1);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void expect_refusal(int status, const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
    SCOPED_TRACE(shown(arguments));
    const Answer run = run_program(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(run.err.starts_with("tessera")) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_TRUE(run.err.ends_with('\n')) << run.err;
    for (const std::string& part : parts)
        EXPECT_NE(run.err.find(part), run.err.npos) << "'" << part << "': " << run.err;
}

Answer expect_success(const std::vector<std::string>& arguments) {
    SCOPED_TRACE(shown(arguments));
    Answer run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
}

}  // namespace tessera::testing
