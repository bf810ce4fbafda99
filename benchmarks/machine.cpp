#include "benchmarks/machine.h"

#include <fmt/core.h>
#include <sched.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tessera::benchmarks {
namespace {

// The value of the first line of /proc/cpuinfo that starts with `key`.
std::string processor_fact(const std::string& key) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(':');
        if (line.starts_with(key) && colon != std::string::npos && colon + 2 <= line.size())
            return line.substr(colon + 2);
    }
    return "";
}

bool has_flag(const std::string& flags, const std::string& wanted) {
    std::istringstream words(flags);
    for (std::string word; words >> word;)
        if (word == wanted) return true;
    return false;
}

std::string first_word(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

// Linux lists a core's caches with their level, type and size ("1024K").
std::string cache_text() {
    std::string text;
    for (int i = 0; i < 8; ++i) {
        const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
        const std::string level = first_word(folder + "level"), type = first_word(folder + "type");
        if (level.empty() || type == "Instruction") continue;
        const long kibibytes = std::atol(first_word(folder + "size").c_str());
        text += fmt::format("{}L{}{} ", text.empty() ? "" : ", ", level, type == "Data" ? "d" : "");
        text += kibibytes >= 1024 ? fmt::format("{} MiB", kibibytes / 1024) : fmt::format("{} KiB", kibibytes);
    }
    return text;
}

}  // namespace

Machine machine() {
    Machine result;
    result.processor = processor_fact("model name");
    if (result.processor.empty()) result.processor = "unknown processor";
    cpu_set_t set;
    CPU_ZERO(&set);
    result.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    result.caches = cache_text();
    const std::string flags = processor_fact("flags");
    result.has_avx512 = has_flag(flags, "avx512f");
    result.vectors = result.has_avx512 ? "AVX-512" : has_flag(flags, "avx2") ? "AVX2" : "";
    if (has_flag(flags, "avx512_bf16")) result.vectors += ", bf16";
    return result;
}

std::string slug(const std::string& words) {
    std::string text;
    for (const char c : words) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter))
            text += static_cast<char>(std::tolower(letter));
        else if (!text.empty() && text.back() != '-')
            text += '-';
    }
    while (!text.empty() && text.back() == '-') text.pop_back();
    return text;
}

}  // namespace tessera::benchmarks
