// The alignment of a translation: which source words each of its words attended to.
#pragma once

#include <string>
#include <vector>

#include "tessera/inference/prompt.h"

namespace tessera::inference {

struct Alignment {
    std::vector<std::string> source, target;
    std::vector<double> weights;  // (target words × source words); a row's sum is 1
};

// Reads the source and the tokens of its translation once more, with an eye on the attention between them: the mean of
// all heads and layers. Tokens of one word are put together: what a word gets is the sum over its tokens, what it gives
// the mean.
Alignment align(const models::OpenedModel& model, const Prompt& prompt, const std::vector<std::int64_t>& translation);

// The alignment as a heat map with the words on both axes.
std::string alignment_svg(const Alignment& alignment);

}  // namespace tessera::inference
