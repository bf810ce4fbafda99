// Who may include whom (ARCHITECTURE.md): a room includes lower levels only, nobody includes a device's kernels, device
// libraries are named only there, third-party headers stand in source files only, and no #if asks for CUDA.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "architecture/sources.h"

namespace tessera::architecture {
namespace {

namespace fs = std::filesystem;
const fs::path source_root = fs::path(TESSERA_SOURCE_DIR) / "src/tessera";
const std::string prefix = "tessera/";     // of what a quoted include names
const std::string umbrella = "tessera.h";  // stands above all rooms, for those who use the library

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
                found.push_back({relative_name(path), without_prefix(match[2]), match[1] == "\""});
        }
    return found;
}

std::string room_of(const std::string& path) { return path.substr(0, path.find('/')); }

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

TEST(IncludeRules, ARoomIncludesLowerLevelsOnly) {
    for (const Include& include : includes()) {
        if (!include.quoted || include.file == umbrella) continue;
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

// Commands, evaluation and training ask inference/generator.h or chat.h for texts, so that all of them end, stop and
// count alike. Parity compares the loop itself.
TEST(IncludeRules, TextIsGeneratedInOnePlace) {
    const std::set<std::string> inside = {"token_loop", "beam_search", "prefix_cache", "prompt_batch",
                                          "sampler",    "detokenizer", "stop_strings", "logits_processor"};
    for (const Include& include : includes()) {
        if (room_of(include.header) != "inference" || starts_with(include.file, "inference/")) continue;
        if (starts_with(include.file, "parity/")) continue;
        const std::string part = fs::path(include.header).stem().string();
        EXPECT_FALSE(inside.count(part)) << include.file << " includes " << include.header;
    }
}

TEST(IncludeRules, NothingAsksWhetherCudaIsThere) {
    const std::regex asks(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA.*)");
    for (const fs::path& path : sources())
        for (const std::string& line : lines_of(path))
            EXPECT_FALSE(std::regex_match(line, asks)) << path << ": " << line;
}

// What models are called: by the files of their families ("deepseek_v2", "deepseek") and by their model_type.
std::set<std::string> model_names() {
    const std::set<std::string> general = {"autoencoder", "mlp_classifier", "rnn_lm"};  // networks, and no one's model
    static const std::regex registered(R"re(RegisterArchitecture[^{]*\{\s*"(\w+)")re");
    std::set<std::string> names;
    for (const fs::path& path : sources()) {
        if (!starts_with(relative_name(path), "models/families/") || path.extension() != ".cpp") continue;
        const std::string family = path.stem();
        if (general.contains(family)) continue;
        names.insert(family);
        if (const std::string first = family.substr(0, family.find('_')); first.size() > 3) names.insert(first);
        std::string text;
        for (const std::string& line : lines_of(path)) text += line + ' ';
        for (std::sregex_iterator at(text.begin(), text.end(), registered), end; at != end; ++at)
            names.insert((*at)[1]);
    }
    return names;
}

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// A short name ("vit") counts as a word of its own alone: it is a part of others.
bool names(const std::string& text, const std::string& model) {
    for (std::size_t at = text.find(model); at != text.npos; at = text.find(model, at + 1)) {
        if (model.size() > 3) return true;
        const std::size_t end = at + model.size();
        if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
    }
    return false;
}

// A part may have options, but never asks which model it is in. Comments may name the paper they follow, the reader and
// the writer of tokenizer.json the components that the format itself calls after a model, and anybody the file format
// of llama2.c.
TEST(IncludeRules, NoModelIsNamedOutsideModels) {
    const std::set<std::string> models = model_names();
    for (const char* known : {"llama", "t5", "vit", "longformer", "palm", "gpt2", "deepseek"})
        ASSERT_TRUE(models.contains(known)) << known;
    const std::regex component(R"re("\w+(Normalizer|PreTokenizer|Processing)")re"), format(R"(llama2\.c)");
    for (const fs::path& path : sources()) {
        const std::string file = relative_name(path);
        if (starts_with(file, "models/")) continue;
        const bool reads_components =
            starts_with(file, "tokenizers/json/") || file == "tokenizers/training/tokenizer_json_writer.cpp";
        std::vector<std::string> lines = lines_of(path);
        lines.push_back(file);
        for (const std::string& line : lines) {
            std::string code = line.substr(0, line.find("//"));
            if (reads_components) code = std::regex_replace(code, component, "");
            std::transform(code.begin(), code.end(), code.begin(), [](unsigned char c) { return std::tolower(c); });
            for (const std::string& model : models) {
                if (!names(code, model)) continue;
                EXPECT_FALSE(names(std::regex_replace(code, format, ""), model)) << file << ": " << line;
            }
        }
    }
}

// What follows from an objective stands in its own file (training/objectives/registration.h): nobody else asks which it
// is. Some names are words of other things too; those count where an objective is spoken of or something is compared.
TEST(IncludeRules, NoObjectiveIsNamedOutsideItsFile) {
    const std::regex own(R"re("(causal|masked|contrastive|denoise|autoencode|pairs|span)")re");
    const std::regex shared(R"re((objective.*|[=!]= ?)"(labels|classify|prefix)")re");
    for (const fs::path& path : sources()) {
        const std::string file = fs::relative(path, source_root).string();
        if (starts_with(file, "training/objectives/")) continue;
        for (const std::string& line : lines_of(path)) {
            const std::string code = line.substr(0, line.find("//"));
            EXPECT_FALSE(std::regex_search(code, own) || std::regex_search(code, shared)) << file << ": " << line;
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
        for (const std::string& line : lines_of(path)) {
            const bool is_what_to_try = line.find(".next_command = ") != line.npos;  // on the program's command line
            EXPECT_FALSE(speaks(line) && !is_what_to_try) << file << ": " << line;
        }
    }
}

TEST(IncludeRules, TheProjectNamesNoMachine) {
    for (const fs::path& path : sources())
        for (const std::string& line : lines_of(path))
            for (const std::string top : {"home", "root", "work"})
                EXPECT_EQ(line.find("/" + top + "/"), std::string::npos) << path << ": " << line;
}

}  // namespace
}  // namespace tessera::architecture
