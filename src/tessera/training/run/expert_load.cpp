#include "tessera/training/run/expert_load.h"

#include <algorithm>

namespace tessera::training {

double busiest_expert(const std::vector<nn::RouterChoice>& layers) {
    double sum = 0;
    for (const nn::RouterChoice& layer : layers) {
        std::vector<std::int64_t> chosen(static_cast<std::size_t>(layer.logits.size(1)));
        for (const std::int64_t expert : layer.indices.to_vector<std::int64_t>())
            ++chosen[static_cast<std::size_t>(expert)];
        const double equal = static_cast<double>(layer.indices.elements()) / static_cast<double>(chosen.size());
        sum += static_cast<double>(*std::max_element(chosen.begin(), chosen.end())) / equal;
    }
    return layers.empty() ? 0 : sum / static_cast<double>(layers.size());
}

}  // namespace tessera::training
