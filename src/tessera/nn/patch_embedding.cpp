#include "tessera/nn/patch_embedding.h"

#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"

namespace tessera::nn {

PatchEmbedding::PatchEmbedding(const PatchEmbeddingSettings& s)
    : weight(Tensor::deferred({s.width, s.channels, s.patch, s.patch})),
      bias(s.has_bias ? Tensor::deferred({s.width}) : Tensor()) {}

Tensor PatchEmbedding::forward(const Tensor& pixels) const {
    const std::int64_t channels = weight.size(1), patch = weight.size(2);
    check(pixels.rank() == 4 && pixels.size(1) == channels, "patch_embedding: images of shape ", pixels.shape(),
          ", expected (B, ", channels, ", H, W)");
    const std::int64_t batch = pixels.size(0), rows = pixels.size(2) / patch, columns = pixels.size(3) / patch;
    check(rows * patch == pixels.size(2) && columns * patch == pixels.size(3), "patch_embedding: ", pixels.shape(),
          " does not cut into patches of ", patch);
    const Tensor cut = ops::reshape(pixels, {batch, channels, rows, patch, columns, patch});
    const Tensor patches =
        ops::reshape(ops::permute(cut, {0, 2, 4, 1, 3, 5}), {batch, rows * columns, channels * patch * patch});
    return ops::linear(patches, ops::reshape(weight, {weight.size(0), -1}), bias);
}

void PatchEmbedding::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
}

}  // namespace tessera::nn
