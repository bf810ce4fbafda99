// Texts through an encoder–decoder, several side by side, by beams or token by token as the settings say.
#pragma once

#include <string>
#include <vector>

#include "tessera/inference/context_rule.h"
#include "tessera/inference/text_model.h"

namespace tessera::inference {

struct Translated {
    std::string text;
    std::vector<std::int64_t> tokens;  // the new ones; a stop id is the last
    bool fills_context = false;        // there was no room for one more
};

// Each text ends before the first of `stops`, and where the model's context does.
std::vector<Translated> translate(const TextModel& model, const GenerationSettings& settings,
                                  const std::vector<Prompt>& prompts, const std::vector<std::string>& stops = {},
                                  const ContextRule& context = {});

// What each word of a translation looked at.
struct Alignment {
    std::vector<std::string> source, target;
    std::vector<double> weights;  // (target words × source words); a row's sum is 1
};

// Reads the source and the translation once more, with an eye on the attention between them: the mean of all heads and
// layers. Tokens of one word are put together: what a word gets is the sum over its tokens, what it gives the mean.
Alignment align(const TextModel& model, const Prompt& prompt, const Translated& translation);

// The alignment as a heat map with the words on both axes.
std::string alignment_svg(const Alignment& alignment);

}  // namespace tessera::inference
