// Sentence vectors from a folder: tokenizer, encoder and pooling as one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/inference/text_model.h"
#include "tessera/models/sentence.h"

namespace tessera::inference {

class SentenceEncoder {
   public:
    explicit SentenceEncoder(const std::filesystem::path& folder, Device device = cpu);

    // One vector per text, (N, width) in f32 on the CPU. A text longer than the model's positions loses its end.
    Tensor embed(const std::vector<std::string>& texts) const;

   private:
    TextModel model_;
    models::Pooling pooling_;
    std::int64_t longest_;  // tokens; 0: no limit
};

}  // namespace tessera::inference
