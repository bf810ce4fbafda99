// The arguments that say how text is to be generated, shared by the commands that do it. What is not given stays as the
// model's own files say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/inference/generator.h"
#include "tessera/inference/prompt.h"

namespace tessera::cli {

struct GenerationArguments {
    std::optional<double> temperature = {}, top_p = {}, min_p = {}, typical = {};
    std::optional<double> repetition_penalty = {}, presence_penalty = {}, frequency_penalty = {}, length_penalty = {};
    std::optional<std::int64_t> top_k = {}, seed = {}, max_new = {}, beams = {};
    std::vector<std::string> stops = {}, stop_ids = {}, logit_bias = {};
    bool greedy = false, ignore_stop = false;

    void declare_sampling(Arguments& parser);  // all that changes which token is chosen
    void declare_beams(Arguments& parser);
    // `fallback_new`: how many tokens at most where neither the arguments nor the model say.
    void declare_stops(Arguments& parser, std::int64_t fallback_new);

    // The model's settings under these arguments; wrong values are refused by name.
    models::GenerationSettings applied(const models::OpenedModel& model) const;
    bool wants_sampling() const { return temperature || top_k || top_p || min_p || typical; }
};

// Throws where a text from the command line or the keyboard is no UTF-8: `what` it is, and where.
void check_utf8(const std::string& text, const std::string& what);

// "prompt 12 tokens in 0.03 s (400/s) · first token after 0.04 s · 63 tokens in 0.9 s (70/s)"
std::string speed_line(const inference::GenerationTimings& timings);

}  // namespace tessera::cli
