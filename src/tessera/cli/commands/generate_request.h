// What `tessera generate` was asked, and what comes of it: shared by its parts.
#pragma once

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/cli/arguments/image_arguments.h"
#include "tessera/formats/json.h"

namespace tessera::cli {

struct GenerateRequest {
    std::string folder, tokenizer, adapter, device = "cpu";
    std::vector<std::string> texts, files, ids;
    std::optional<std::int64_t> log_probabilities;
    bool chat = false, json = false, echo = false;
    GenerationArguments how;
    ContextArguments context;
    ImageArguments images;
};

// What the model reads.
struct GenerateInputs {
    std::vector<std::vector<std::int64_t>> ids;
    models::Batch batch;
};

// What one row has become.
struct Answer {
    std::string text;
    std::vector<std::int64_t> tokens;
    const char* ending = "length";  // or stop or context
    formats::Json log_probabilities = formats::Json::array();
    double score = 0;  // of a beam
    std::vector<data::Detection> detections = {};
};

struct Answers {
    std::vector<Answer> rows;
    Speed speed;
    std::int64_t steps = 0, cache_bytes = 0;
    std::int64_t forgotten = 0;  // tokens that shifts of the context left out
    bool can_shift = false;
};

// Continues the prompts by sampling, printing a lone text as it comes, or by a search with beams.
Answers answers_to(const GenerateRequest& request, const inference::TextModel& model,
                   const inference::GenerationSettings& settings, const GenerateInputs& inputs);

// One line on standard error where texts have met the end of the context.
void tell_of_context(const GenerateRequest& request, const inference::TextModel& model, const Answers& answers);
void print_json(const GenerateRequest& request, const inference::TextModel& model,
                const inference::GenerationSettings& settings, const Answers& answers,
                const std::vector<formats::Image>& images);
// `streamed`: the text itself stands there already.
void print_text(const GenerateRequest& request, const inference::TextModel& model, const Answers& answers,
                bool streamed);

}  // namespace tessera::cli
