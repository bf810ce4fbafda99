// Encoding 10 MB of text on one thread, beside the libraries `tokenizers` and `tiktoken` where Python has them. The
// text and the tokenizer are not ours to keep here: TESSERA_TOKENIZER names a folder with a tokenizer.json,
// TESSERA_TEXT a file that is repeated to the length.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "benchmarks/support.h"
#include "tessera/core/error.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::benchmarks {
namespace {

constexpr std::size_t length = 10'000'000;

std::string repeated(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string once{std::istreambuf_iterator<char>(file), {}};
    check(!once.empty(), "TESSERA_TEXT: ", path, " is no text");
    std::string text;
    while (text.size() < length) text += once;
    text.resize(length);
    return text;
}

std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// What the peer's script prints; an empty object where it cannot run.
formats::Json peers(const std::string& folder, const std::string& text) {
    const auto script = std::filesystem::path(results_folder()).parent_path() / "peers" / "tokenizers_python.py";
    const std::string command = "python3 " + quoted(script.string()) + " " + quoted(folder) + " " + quoted(text) +
                                (is_quick() ? " --rounds 1" : "") + " 2>/dev/null";
    std::string out;
    if (std::FILE* pipe = popen(command.c_str(), "r")) {
        char part[4096];
        while (const std::size_t count = std::fread(part, 1, sizeof part, pipe)) out.append(part, count);
        pclose(pipe);
    }
    return out.empty() ? formats::Json::object() : formats::Json::parse(out, script.string());
}

void run() {
    const char *folder = std::getenv("TESSERA_TOKENIZER"), *file = std::getenv("TESSERA_TEXT");
    if (!folder || !file) {
        note("tokenizers: set TESSERA_TOKENIZER to a folder with a tokenizer.json and TESSERA_TEXT to a text");
        return;
    }
    const std::string text = repeated(file);
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer;
    const double opening = seconds_once([&] { tokenizer = tokenizers::open_tokenizer(folder); });
    report({.name = "opening the tokenizer", .ours = opening, .unit = "s"});
    std::size_t ids = 0;
    const double seconds = seconds_of([&] { ids = tokenizer->encode(text, false).size(); });
    const double ours = static_cast<double>(text.size()) / seconds / 1e6;
    progress("the reference libraries");
    const formats::Json measured = peers(folder, file);
    if (measured.members().empty()) report({.name = "encoding 10 MB of text", .ours = ours, .unit = "MB/s"});
    for (const auto& [name, figures] : measured.members()) {
        const double theirs = figures.find("megabytes_per_second")->as_number();
        report({.name = "encoding 10 MB of text",
                .ours = ours,
                .unit = "MB/s",
                .against = name,
                .reference = theirs,
                .ratio = ours / theirs,
                .sense = Goal::AtLeast,
                .goal = 2});
        const std::int64_t count = figures.find("ids")->as_integer();
        if (static_cast<std::size_t>(count) != ids) note(text_of(name, ": ", count, " ids, ours ", ids));
    }
}

const RegisterBenchmark registered({"tokenizers", "encoding text on one thread", run, 9});

}  // namespace
}  // namespace tessera::benchmarks
