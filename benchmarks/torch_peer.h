// PyTorch as a peer: one of the scripts in peers/, run by Debian's interpreter with Debian's PyTorch.
#pragma once

#include <string>
#include <vector>

namespace tessera::benchmarks {

// The words that run peers/SCRIPT, on as many threads as we use.
std::vector<std::string> torch_command(const std::string& script, const std::vector<std::string>& options = {});

// PyTorch at its best: OpenBLAS told of AVX-512, and memory kept and on huge pages, as our allocator does it, instead
// of being returned to the system and faulted in again at every step.
std::vector<std::string> torch_environment();
// The same without keeping memory: slower, and smaller.
std::vector<std::string> small_torch_environment();

}  // namespace tessera::benchmarks
