// How far two texts are apart: the fewest characters to insert, remove or change (Levenshtein 1966), by bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

std::int64_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tessera
