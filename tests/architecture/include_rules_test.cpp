// Who may include whom (ARCHITECTURE.md): a room includes lower levels only, nobody includes a device's kernels, device
// libraries are named only there, third-party headers stand in source files only, and no #if asks for CUDA.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path source_root = fs::path(TESSERA_SOURCE_DIR) / "src/tessera";
const std::string prefix = "tessera/";  // of what a quoted include names

const std::map<std::string, int> level_of_room = {
    {"core", 0},       {"kernels", 1}, {"text", 1},    {"tensor", 2},    {"ops", 3},
    {"formats", 3},    {"jinja", 4},   {"plots", 4},   {"nn", 4},        {"data", 6},
    {"tokenizers", 5}, {"models", 6},  {"scenes", 7},  {"inference", 7}, {"training", 8},
    {"evaluation", 9}, {"parity", 9},  {"serving", 9}, {"cli", 10},
};

struct Include {
    std::string file;    // relative to src/tessera/
    std::string header;  // a quoted one too
    bool quoted;
};

std::vector<fs::path> sources() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(source_root)) {
        const std::string extension = entry.path().extension();
        if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh")
            found.push_back(entry.path());
    }
    return found;
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

std::string without_prefix(const std::string& header) {
    return header.rfind(prefix, 0) == 0 ? header.substr(prefix.size()) : header;
}

std::vector<Include> includes() {
    static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
    std::vector<Include> found;
    for (const fs::path& path : sources())
        for (const std::string& line : lines_of(path)) {
            std::smatch match;
            if (std::regex_match(line, match, pattern))
                found.push_back({fs::relative(path, source_root).string(), without_prefix(match[2]), match[1] == "\""});
        }
    return found;
}

std::string room_of(const std::string& path) { return path.substr(0, path.find('/')); }

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

TEST(IncludeRules, ARoomIncludesLowerLevelsOnly) {
    for (const Include& include : includes()) {
        if (!include.quoted) continue;
        const std::string from = room_of(include.file), to = room_of(include.header);
        ASSERT_TRUE(level_of_room.count(from)) << include.file << " is in no known room";
        ASSERT_TRUE(level_of_room.count(to))
            << include.file << " includes \"" << include.header << "\", which is in no room";
        const bool lower = level_of_room.at(to) < level_of_room.at(from);
        EXPECT_TRUE(from == to || lower) << include.file << " includes " << include.header;
    }
}

TEST(IncludeRules, NobodyIncludesADevicesKernels) {
    for (const Include& include : includes())
        for (const std::string device : {"kernels/cpu/", "kernels/cuda/"}) {
            if (!starts_with(include.header, device)) continue;
            EXPECT_TRUE(starts_with(include.file, device)) << include.file << " includes " << include.header;
        }
}

TEST(IncludeRules, DeviceLibrariesAreNamedInTheirKernelsOnly) {
    const std::map<std::string, std::vector<std::string>> homes = {
        {"hwy/", {"kernels/cpu/"}},  {"dnnl", {"kernels/cpu/"}},
        {"cblas", {"kernels/cpu/"}}, {"omp.h", {"kernels/cpu/", "core/parallel.cpp"}},
        {"cuda", {"kernels/cuda/"}}, {"cublas", {"kernels/cuda/"}},
        {"nccl", {"kernels/cuda/"}},
    };
    for (const Include& include : includes())
        for (const auto& [library, places] : homes) {
            if (include.quoted || !starts_with(include.header, library)) continue;
            const bool at_home = std::any_of(places.begin(), places.end(), [&](const std::string& place) {
                return starts_with(include.file, place);
            });
            EXPECT_TRUE(at_home) << include.file << " includes <" << include.header << ">";
        }
}

TEST(IncludeRules, ThirdPartyHeadersStandInSourceFilesOnly) {
    for (const Include& include : includes()) {
        const bool is_header = include.file.ends_with(".h") && !include.file.ends_with("-inl.h");
        const bool third_party =
            !include.quoted && (include.header.find('/') != std::string::npos || include.header.ends_with(".hpp"));
        EXPECT_FALSE(is_header && third_party && !starts_with(include.header, "sys/"))
            << include.file << " includes <" << include.header << ">";
    }
}

TEST(IncludeRules, NothingAsksWhetherCudaIsThere) {
    const std::regex asks(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA.*)");
    for (const fs::path& path : sources())
        for (const std::string& line : lines_of(path))
            EXPECT_FALSE(std::regex_match(line, asks)) << path << ": " << line;
}

// A part may have options, but never asks which model it is in. Comments may name the paper they follow, and the
// reader and the writer of tokenizer.json the components that the format itself calls after a model.
TEST(IncludeRules, NoModelIsNamedOutsideModels) {
    const std::regex model(
        R"(\b\w*(gpt2|gpt_neox|mistral|mixtral|falcon|gemma|qwen|phi3|deepseek|palm|bert|bart|marian|siglip)\w*\b)",
        std::regex::icase);
    const std::regex component(R"re("\w+(Normalizer|PreTokenizer|Processing)")re");
    for (const fs::path& path : sources()) {
        const std::string file = fs::relative(path, source_root).string();
        if (starts_with(file, "models/")) continue;
        const bool reads_components =
            starts_with(file, "tokenizers/json/") || file == "tokenizers/training/tokenizer_json_writer.cpp";
        for (const std::string& line : lines_of(path)) {
            std::string code = line.substr(0, line.find("//"));
            if (reads_components) code = std::regex_replace(code, component, "");
            EXPECT_FALSE(std::regex_search(code, model)) << file << ": " << line;
        }
    }
}

// The library says what is wrong; which option puts it right is the program's to say (cli/arguments/failure.cpp).
TEST(IncludeRules, TheLibrarySpeaksOfNoCommandLineFlags) {
    const std::regex flag(R"re("([^"\\]|\\.)*--[a-z]([^"\\]|\\.)*")re");
    const auto speaks = [&](const std::string& line) {
        return std::regex_search(line.substr(0, line.find("// ")), flag);
    };
    EXPECT_TRUE(speaks(R"(fail("name one with --tokenizer");)"));
    EXPECT_FALSE(speaks(R"(--left;  // "--tokenizer")"));
    for (const fs::path& path : sources()) {
        const std::string file = fs::relative(path, source_root).string();
        if (starts_with(file, "cli/")) continue;
        for (const std::string& line : lines_of(path)) EXPECT_FALSE(speaks(line)) << file << ": " << line;
    }
}

TEST(IncludeRules, TheProjectNamesNoMachine) {
    for (const fs::path& path : sources())
        for (const std::string& line : lines_of(path))
            for (const std::string top : {"home", "root", "work"})
                EXPECT_EQ(line.find("/" + top + "/"), std::string::npos) << path << ": " << line;
}

}  // namespace
