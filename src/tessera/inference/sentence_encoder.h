// Sentence vectors: a model's tokenizer, its hidden states and the pooling its folder asks for as one.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/opened_model.h"
#include "tessera/models/sentence.h"

namespace tessera::inference {

class SentenceEncoder {
   public:
    explicit SentenceEncoder(const models::OpenedModel& model);  // which must outlive it

    // One vector per text, (N, width) in f32 on the CPU. A text longer than the model's positions loses its end.
    Tensor embed(const std::vector<std::string>& texts) const;

   private:
    const models::OpenedModel& model_;
    models::Pooling pooling_;
    std::int64_t longest_;  // tokens; 0: no limit
};

}  // namespace tessera::inference
