// The program behind ./benchmarks/run.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "benchmarks/report.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel.h"

namespace tessera::benchmarks {
namespace {

struct Arguments {
    std::vector<std::string> names;
    bool list = false, json = false, record = false, quick = false, best = false;
    std::string results = "benchmarks/results";
    int threads = 2;
};

class UsageError : public Error {
   public:
    using Error::Error;
};

std::string known_names() {
    std::string text;
    for (const Benchmark& each : benchmarks()) text += (text.empty() ? "" : ", ") + std::string(each.name);
    return text;
}

Arguments parse(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto value = [&] {
            if (++i == count) throw UsageError(word + " needs a value");
            return std::string(words[i]);
        };
        if (word == "--list")
            arguments.list = true;
        else if (word == "--json")
            arguments.json = true;
        else if (word == "--record")
            arguments.record = true;
        else if (word == "--quick")
            arguments.quick = true;
        else if (word == "--best")
            arguments.best = true;
        else if (word == "--results")
            arguments.results = value();
        else if (word == "--threads")
            arguments.threads = std::max(1, std::atoi(value().c_str()));
        else if (word.starts_with("-"))
            throw UsageError("no option " + word + "; --help shows them");
        else
            arguments.names.push_back(word);
    }
    const auto& all = benchmarks();
    for (const std::string& name : arguments.names)
        if (std::none_of(all.begin(), all.end(), [&](const Benchmark& each) { return each.name == name; }))
            throw UsageError("no benchmark " + name + "; there are " + known_names());
    return arguments;
}

void print_list() {
    for (const Benchmark& each : benchmarks()) fmt::print("  {:<10} {}\n", each.name, each.summary);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}

int run(const Arguments& arguments) {
    if (arguments.list) {
        print_list();
        return 0;
    }
    set_thread_count(arguments.threads);
    set_quick(arguments.quick);
    set_takes_best(arguments.best);
    set_json(arguments.json);
    set_results_folder(arguments.results);
    for (const Benchmark& each : benchmarks()) {
        const auto& names = arguments.names;
        if (!names.empty() && std::find(names.begin(), names.end(), each.name) == names.end()) continue;
        progress(each.name);
        each.run();
    }
    if (arguments.json) print_json();
    if (arguments.record) write_record(today());
    return 0;
}

}  // namespace
}  // namespace tessera::benchmarks

int main(int count, char** words) {
    using namespace tessera::benchmarks;
    try {
        return run(parse(count, words));
    } catch (const UsageError& error) {
        fmt::print(stderr, "benchmarks: {}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        progress("");
        fmt::print(stderr, "benchmarks: {}\n", error.what());
        return 1;
    }
}
