#include "benchmarks/machine.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <cctype>
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

std::string size_text(long bytes) {
    if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
    return fmt::format("{} KiB", bytes >> 10);
}

std::string cache_text() {
    const std::pair<const char*, int> levels[] = {
        {"L1d", _SC_LEVEL1_DCACHE_SIZE}, {"L2", _SC_LEVEL2_CACHE_SIZE}, {"L3", _SC_LEVEL3_CACHE_SIZE}};
    std::string text;
    for (const auto& [name, key] : levels) {
        const long bytes = sysconf(key);
        if (bytes > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, size_text(bytes));
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
