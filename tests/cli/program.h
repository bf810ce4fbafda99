// Runs the built program as a person would, and keeps what it says.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tessera::testing {

struct Answer {
    int status = -1;  // −1: it did not exit by itself
    std::string out, err;
};

// `input` is what stands on its standard input.
Answer run_program(const std::vector<std::string>& arguments, const std::string& input = "");
// The same with standard output and standard error on a terminal: all that was shown there, in `out`.
Answer run_on_terminal(const std::vector<std::string>& arguments);
// Starts it and kills it without warning after that long. False where it had ended before.
bool run_and_kill(const std::vector<std::string>& arguments, std::chrono::milliseconds after);

// Starts it, sends it the signal as soon as `is_time`, and waits until it ends.
Answer run_and_signal(const std::vector<std::string>& arguments, int signal, const std::function<bool()>& is_time);
// The status of a shell's command, in which $TESSERA is the program.
int run_in_shell(const std::string& command);

// Runs it and expects this status, and one line on standard error that begins with "tessera" and holds every part.
void expect_refusal(int status, const std::vector<std::string>& arguments, const std::vector<std::string>& parts);
// Runs it and expects that all went well.
Answer expect_success(const std::vector<std::string>& arguments);

}  // namespace tessera::testing
