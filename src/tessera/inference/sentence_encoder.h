// Sentence vectors: a model's tokenizer, its hidden states and the pooling its folder asks for as one.
#pragma once

#include <string>
#include <vector>

#include "tessera/inference/read_texts.h"
#include "tessera/models/opened_model.h"
#include "tessera/models/sentence.h"

namespace tessera::inference {

struct EmbeddedTexts {
    Tensor vectors;              // (N, width) in f32 on the CPU
    std::vector<ReadText> read;  // of each text
};

class SentenceEncoder {
   public:
    explicit SentenceEncoder(const models::OpenedModel& model);  // which must outlive it

    // One vector per text. A text longer than the model's context loses its end, and the answer says so.
    EmbeddedTexts embed(const std::vector<std::string>& texts) const;

   private:
    const models::OpenedModel& model_;
    models::Pooling pooling_;
    std::int64_t longest_;  // tokens; 0: no limit
};

}  // namespace tessera::inference
