// tessera scenes: looks at a scene set, writes it to files, prints its texts; scenes_score.cpp marks a model's answers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/command_group.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/core/parallel.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/output_folder.h"
#include "tessera/scenes/contact_sheet.h"
#include "tessera/scenes/scenes.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

struct Range {
    std::int64_t from = 0, count = 0;
};

// Without a count: all from there on.
Range range_of(const scenes::Scenes& scenes, std::int64_t from, std::optional<std::int64_t> count) {
    check(from >= 0 && from < scenes.size(), scenes.settings().source, ": --from ", from, ": there are ", scenes.size(),
          " scenes, the first is 0");
    check(!count || *count >= 1, "--count: expected 1 or more, found ", count.value_or(0));
    const std::int64_t left = scenes.size() - from;
    return {from, std::min(count.value_or(left), left)};
}

// Scenes side by side, given on in their order, some at a time.
template <class Make, class Use>
void for_scenes(Range range, std::int64_t at_a_time, Make make, Use use) {
    for (std::int64_t done = 0; done < range.count; done += at_a_time) {
        std::vector<scenes::Scene> scenes(static_cast<std::size_t>(std::min(at_a_time, range.count - done)));
        parallel_for(static_cast<std::int64_t>(scenes.size()), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                scenes[static_cast<std::size_t>(i)] = make(range.from + done + i);
        });
        for (std::size_t i = 0; i < scenes.size(); ++i)
            use(range.from + done + static_cast<std::int64_t>(i), std::move(scenes[i]));
    }
}

Json to_json(const scenes::Scene& scene) {
    Json objects = Json::array();
    for (const scenes::SceneObject& object : scene.objects) {
        const auto& [left, top, right, bottom] = object.box;
        objects.push_back(Json::object()
                              .set("name", object.name)
                              .set("left", left)
                              .set("top", top)
                              .set("right", right)
                              .set("bottom", bottom));
    }
    return Json::object()
        .set("prefix", scene.prefix)
        .set("suffix", scene.suffix)
        .set("task", scenes::scene_task_names[static_cast<std::size_t>(scene.task)])
        .set("objects", std::move(objects));
}

bool is_scenes_file(const fs::path& below) {
    const std::string number = below.stem();
    return below == "scenes.jsonl" || below == "pictures" ||
           (below.parent_path() == "pictures" && below.extension() == ".png" &&
            number.find_first_not_of("0123456789") == number.npos);
}

int preview(const std::vector<std::string>& arguments) {
    std::string file, out;
    std::int64_t count = 24, from = 0, columns = 6;
    bool json = false, overwrite = false;
    Arguments parser("scenes preview", "Scenes on one sheet, each with its question and its answer under it.",
                     "tessera scenes preview recipes/scenes/train.scenes.json -o sheet.png --count 24");
    parser.positional("FILE", file, "a scene set (.scenes.json)");
    parser.option("-o,--output FILE", out, "the PNG file to write, needed");
    parser.option("--count", count, "how many scenes, at most 1000");
    parser.option("--from", from, "the number of the first one");
    parser.option("--columns", columns, "how many side by side");
    parser.threads();
    parser.overwrite(overwrite);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (out.empty()) return parser.refuse("-o SHEET is missing");
    constexpr std::int64_t most = 1000;
    check(count >= 1 && count <= most, "--count: expected 1 to ", most, ", found ", count);
    check(columns >= 1 && columns <= most, "--columns: expected 1 to ", most, ", found ", columns);
    check_output_file(out, formats::image_signature(out), {file}, {.overwrite = overwrite});
    const scenes::Scenes scenes{fs::path(file)};
    const Range range = range_of(scenes, from, count);
    std::vector<scenes::SheetEntry> entries;
    for_scenes(
        range, range.count, [&](std::int64_t index) { return scenes.at(index); },
        [&](std::int64_t, scenes::Scene scene) {
            entries.push_back({std::move(scene.image), std::move(scene.prefix), std::move(scene.suffix)});
        });
    formats::write_image(out, scenes::contact_sheet(entries, columns));
    if (json)
        fmt::print("{}\n", json_for_terminal(Json::object().set("file", out).set("scenes", range.count).dump(0)));
    else
        fmt::print("{}: {}\n", one_line(out), counted(range.count, "scene"));
    return 0;
}

int write(const std::vector<std::string>& arguments) {
    std::string file, out;
    std::optional<std::int64_t> count;
    std::int64_t from = 0;
    bool json = false, overwrite = false;
    Arguments parser(
        "scenes write",
        "Writes scenes as PNG files and a file of JSON lines {\"image\", \"prefix\", \"suffix\", \"task\", "
        "\"objects\"}:\nDIR/scenes.jsonl, which trains a model as the set itself does.",
        "tessera scenes write recipes/scenes/validation.scenes.json -o DIR --count 100");
    parser.positional("FILE", file, "a scene set (.scenes.json)");
    parser.option("-o,--output DIR", out, "the folder to write, needed");
    parser.option("--count", count, "how many scenes (default: all)");
    parser.option("--from", from, "the number of the first one");
    parser.threads();
    parser.flag("--overwrite", overwrite, "replace the scenes that are in DIR; other files stay");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (out.empty()) {
        return parser.refuse("-o DIR is missing");
    }
    const scenes::Scenes scenes{fs::path(file)};
    const Range range = range_of(scenes, from, count);
    const Interruption interruption;
    formats::OutputFolder folder(out, {.overwrite = overwrite, .inputs = {file}, .is_own = is_scenes_file});
    fs::create_directories(folder.path() / "pictures");
    const auto name_of = [](std::int64_t index) { return text_of("pictures/", index, ".png"); };
    formats::AtomicFile lines(folder.path() / "scenes.jsonl");
    Progress progress("scenes", static_cast<double>(range.count), "scenes");
    for_scenes(
        range, 256,
        [&](std::int64_t index) {
            scenes::Scene scene = scenes.at(index);
            formats::write_png(folder.path() / name_of(index), scene.image);
            return scene;
        },
        [&](std::int64_t index, const scenes::Scene& scene) {
            Json line = Json::object().set("image", name_of(index));
            for (const auto& [key, value] : to_json(scene).members()) line.set(key, value);
            lines.write(line.dump(0) + "\n");
            progress.set(static_cast<double>(index - range.from + 1));
        });
    lines.commit();
    folder.commit();
    const std::string written = (fs::path(out) / "scenes.jsonl").string();
    if (json)
        fmt::print("{}\n", json_for_terminal(Json::object().set("file", written).set("scenes", range.count).dump(0)));
    else
        fmt::print("{}: {}\n", one_line(written), counted(range.count, "scene"));
    return 0;
}

int texts(const std::vector<std::string>& arguments) {
    std::string file;
    std::optional<std::int64_t> count;
    std::int64_t from = 0;
    bool json = false;
    Arguments parser("scenes texts",
                     "Prints each scene's prefix, a tab and its suffix: what a tokenizer for them is learned from.",
                     "tessera scenes texts recipes/scenes/train.scenes.json --count 10000 > texts.txt");
    parser.positional("FILE", file, "a scene set (.scenes.json)");
    parser.option("--count", count, "how many scenes (default: all)");
    parser.option("--from", from, "the number of the first one");
    parser.threads();
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    const scenes::Scenes scenes{fs::path(file)};
    for_scenes(
        range_of(scenes, from, count), 4096, [&](std::int64_t index) { return scenes.texts_at(index); },
        [&](std::int64_t, const scenes::Scene& scene) {
            if (json)
                std::printf("%s\n", json_for_terminal(to_json(scene).dump(0)).c_str());
            else
                std::printf("%s\t%s\n", for_terminal(scene.prefix).c_str(), for_terminal(scene.suffix).c_str());
            check_output();
        });
    return 0;
}

}  // namespace

int scenes_command(const std::vector<std::string>& arguments) {
    constexpr Subcommand commands[] = {
        {"preview", "FILE -o SHEET", "scenes on one sheet, with their texts", preview},
        {"write", "FILE -o DIR", "PNG files and JSON lines", write},
        {"texts", "FILE", "prefix, tab, suffix, one a line", texts},
        {"score", "DIR FILE", "a model answers, and its answers are marked", scenes_score_command}};
    return run_group({.name = "scenes",
                      .summary = "Images with questions and exact answers, made from a scene set, FILE.scenes.json "
                                 "(docs/scenes.md says what that is).",
                      .example = "tessera scenes preview recipes/scenes/train.scenes.json -o sheet.png",
                      .commands = commands},
                     arguments);
}

}  // namespace tessera::cli
