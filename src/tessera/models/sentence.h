// One vector per sentence from an encoder's hidden states (Sentence-BERT: Reimers and Gurevych 2019), as the folders of
// sentence-transformers describe it: modules.json lists the steps, 1_Pooling/config.json the kind of pooling.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tessera/tensor/tensor.h"

namespace tessera::models {

enum class PoolingMode : std::uint8_t { Mean, First, Max };  // over the tokens; the first is BERT's [CLS]

struct Pooling {
    PoolingMode mode = PoolingMode::Mean;
    bool normalise = true;          // to length 1
    std::int64_t longest_text = 0;  // tokens that the folder allows; 0: it does not say
};

// hidden (B, T, W), attention_mask i64 (B, T) or undefined → (B, W). A row without tokens gives zeros.
Tensor sentence_embedding(const Tensor& hidden, const Tensor& attention_mask, const Pooling& pooling = {});

// What the folder asks for; the defaults where it says nothing.
Pooling read_pooling(const std::filesystem::path& folder);
// Whether it says anything; and a copy of the files that say it.
bool says_pooling(const std::filesystem::path& folder);
void copy_pooling(const std::filesystem::path& folder, const std::filesystem::path& to);

}  // namespace tessera::models
