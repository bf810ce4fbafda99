// A small benchmark framework. Ratios are the point: the sides of a comparison run in turn, round after round, in one
// process, so that whatever slows the machine slows all of them alike; a side's time is the median of its rounds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::benchmarks {

struct Side {
    std::string name;
    std::function<void()> work;
    std::function<void()> prepare = {};  // before each run of `work`, not timed
};

struct RaceOptions {
    double seconds = 2;  // for all sides together; at least `least_rounds` are run however long they take
    int least_rounds = 5;
    int warm_up = 1;
};

// Median seconds of each side (the best with --best).
std::vector<double> race(const std::vector<Side>& sides, const RaceOptions& options = {});
double seconds_of(const std::function<void()>& work, const RaceOptions& options = {});  // a race of one
double seconds_once(const std::function<void()>& work);

// The fastest of some sides, by index.
std::size_t fastest(const std::vector<double>& seconds, std::size_t first = 0);

enum class Goal { None, AtLeast, AtMost };

// One printed line: what ours does, beside the peer or the limit it is measured against.
struct Figure {
    std::string name;
    double ours = 0;
    std::string unit;
    std::string against = {};  // the peer's or limit's name; empty for a plain figure
    double reference = 0;      // in the same unit
    double ratio = 0;          // more is better, except where the goal is at_most
    Goal sense = Goal::None;
    double goal = 0;

    bool holds() const { return sense == Goal::None || (sense == Goal::AtLeast ? ratio >= goal : ratio <= goal); }
};

// Where figures go: printed as they come, and kept for --json and --record.
void report(const Figure& figure);
const std::vector<Figure>& reported();
// A table or a remark that belongs to the figures: to stdout, and into the recorded page.
void note(const std::string& text);
const std::vector<std::string>& notes();
// What is being measured right now, where stderr is a terminal.
void progress(const std::string& what);

bool is_quick();    // --quick: short races, to see that everything works
bool takes_best();  // --best: a side's best round in place of its median, for a machine that others use too

// A benchmark registers itself under the name that selects it.
struct Benchmark {
    const char* name;
    const char* summary;
    void (*run)();
    int order;  // in which they run and are listed
};
struct RegisterBenchmark {
    explicit RegisterBenchmark(const Benchmark& benchmark);
};

// A file that --record writes beside the figures.
void attach(const std::string& file_name, const std::string& contents);
std::string results_folder();

// Values in (−1, 1), the same on every run.
Tensor random_tensor(const Shape& shape, DType dtype = DType::F32, std::uint64_t seed = 1);
Tensor random_ids(const Shape& shape, std::int64_t count, std::uint64_t seed = 1);

}  // namespace tessera::benchmarks
