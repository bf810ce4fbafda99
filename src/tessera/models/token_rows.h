// The rows of a batch of ids as plain numbers, for models that look tokens up instead of multiplying.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::models {

// One row from its first token to its last, padding left out.
struct TokenRow {
    const std::int64_t *begin, *end;
};

// The ids (B, T) in order; one outside the vocabulary is an error.
std::vector<std::int64_t> checked_ids(const Tensor& ids, std::int64_t vocabulary);
// Pointers into `ids`; attention_mask may be undefined.
std::vector<TokenRow> token_rows(const std::vector<std::int64_t>& ids, const Tensor& attention_mask, std::int64_t rows);

}  // namespace tessera::models
