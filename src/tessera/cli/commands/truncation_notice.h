// What is said on standard error where texts were longer than the model reads.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/inference/read_texts.h"

namespace tessera::cli {

// "tessera: 2 of 5 texts were cut to the 64 tokens that the model reads"; nothing where none was.
void print_truncation(const std::vector<inference::ReadText>& texts);
std::int64_t count_truncated(const std::vector<inference::ReadText>& texts);

}  // namespace tessera::cli
