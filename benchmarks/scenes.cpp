// How many scenes of 128 pixels a second are made, by one thread and by all: a GPU is kept busy by 2,000 a second from
// 16 cores. With emoji where tools/fetch_data has brought them, else with shapes and texts alone.
#include <filesystem>

#include "benchmarks/support.h"
#include "tessera/core/parallel.h"
#include "tessera/scenes/scenes.h"

namespace tessera::benchmarks {
namespace {

scenes::SceneSettings settings() {
    const std::string parts = std::filesystem::path(results_folder()).parent_path().parent_path() / "data";
    formats::Json file = formats::Json::object().set("size", 128).set("pictures", 1 << 30).set("parts", parts);
    if (std::filesystem::exists(parts + "/emoji"))
        file.set("styles", formats::Json::array().push_back("google").push_back("twitter"));
    return scenes::read_scene_settings(formats::Config(file, "the benchmark's scenes"));
}

double images_per_second(const scenes::Scenes& scenes, int threads) {
    const int before = thread_count();
    set_thread_count(threads);
    const std::int64_t count = 256 * threads;
    std::int64_t next = 0;
    const double seconds = seconds_of([&] {
        parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) scenes.at(next + i);
        });
        next += count;
    });
    set_thread_count(before);
    return static_cast<double>(count) / seconds;
}

void run() {
    std::unique_ptr<scenes::Scenes> scenes;
    const double opening = seconds_once([&] { scenes = std::make_unique<scenes::Scenes>(settings()); });
    report({.name = "opening the scene set", .ours = opening, .unit = "s"});
    const double needed = 2000.0 / 16;
    for (const int threads : {1, thread_count()}) {
        const double rate = images_per_second(*scenes, threads);
        report({.name = threads == 1 ? "scenes of 128 pixels, 1 thread" : "scenes of 128 pixels, all threads",
                .ours = rate,
                .unit = "/s",
                .against = "what a GPU needs",
                .reference = needed * threads,
                .ratio = rate / (needed * threads),
                .sense = Goal::AtLeast,
                .goal = 1});
        if (thread_count() == 1) break;
    }
}

const RegisterBenchmark registered({"scenes", "images with questions, made as they are needed", run, 10});

}  // namespace
}  // namespace tessera::benchmarks
