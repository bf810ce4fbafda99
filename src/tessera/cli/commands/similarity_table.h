// How alike texts are: the cosines of their vectors, as a table for people or JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "tessera/formats/json.h"
#include "tessera/tensor/tensor.h"

namespace tessera::cli {

struct Similarities {
    std::vector<std::string> texts;
    std::vector<std::vector<double>> cosines;  // of each text with each
    std::vector<std::size_t> nearest;          // to each text, the most similar other one
};

Similarities similarities_of(const std::vector<std::string>& texts, const Tensor& vectors);  // (texts, width)
std::string table_of(const Similarities& similarities);
formats::Json to_json(const Similarities& similarities);

}  // namespace tessera::cli
