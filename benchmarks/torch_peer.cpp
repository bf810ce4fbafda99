#include "benchmarks/torch_peer.h"

#include <fmt/core.h>

#include <filesystem>

#include "benchmarks/machine.h"
#include "benchmarks/support.h"
#include "tessera/core/parallel.h"

namespace tessera::benchmarks {

std::vector<std::string> torch_command(const std::string& script, const std::vector<std::string>& options) {
    const auto path = std::filesystem::path(results_folder()).parent_path() / "peers" / script;
    // Debian's interpreter, which sees Debian's PyTorch; another first in the path would not.
    std::vector<std::string> command{"/usr/bin/python3", "-W",        "ignore",
                                     path.string(),      "--threads", std::to_string(thread_count())};
    command.insert(command.end(), options.begin(), options.end());
    return command;
}

std::vector<std::string> small_torch_environment() {
    std::vector<std::string> environment{fmt::format("OMP_NUM_THREADS={}", thread_count())};
    if (machine().has_avx512) environment.push_back("OPENBLAS_CORETYPE=SkylakeX");
    return environment;
}

std::vector<std::string> torch_environment() {
    std::vector<std::string> environment = small_torch_environment();
    environment.push_back(
        "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184:"
        "glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1");
    return environment;
}

}  // namespace tessera::benchmarks
