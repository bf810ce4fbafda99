#include "tessera/models/adapters/adapter_summary.h"

#include <algorithm>

#include "tessera/formats/find_file.h"
#include "tessera/formats/safetensors.h"

namespace tessera::models {

AdapterSummary summarise_adapters(const std::filesystem::path& folder) {
    const char* name = "adapter_model.safetensors";
    const std::filesystem::path file = formats::find_file(folder, name);
    check(!file.empty(), folder.string(), ": no ", name, " in this folder");
    AdapterSummary summary;
    for (const auto& [tensor_name, tensor] : formats::read_safetensors(file).tensors) {
        summary.parameters += tensor.elements();
        if (tensor_name.find(".lora_A.") == std::string::npos || tensor.rank() != 2) continue;
        const std::int64_t rank = tensor.size(0);
        summary.least_rank = summary.layers == 0 ? rank : std::min(summary.least_rank, rank);
        summary.most_rank = std::max(summary.most_rank, rank);
        ++summary.layers;
    }
    return summary;
}

}  // namespace tessera::models
