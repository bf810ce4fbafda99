// Attention forward for a few query rows per key head, as when a model writes one token at a time. The time goes into
// reading the keys and values once, so nothing is packed: rows are read where they lie, in their own dtype.
#pragma once

#include "tessera/kernels/attention.h"

namespace tessera::kernels::cpu {

constexpr std::int64_t few_rows = 8;

// For at most few_rows query rows per key head, without dropout.
void attention_of_few(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views);

}  // namespace tessera::kernels::cpu
