// Text from text and images: prompts in, pieces of text out as they come, with the endings, tokens, log-probabilities
// and timings. Whether tokens are sampled or searched for with beams is what the settings say.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/inference/prefix_cache.h"
#include "tessera/inference/prompt.h"
#include "tessera/inference/token_loop.h"

namespace tessera::inference {

struct GenerationRequest {
    std::vector<Prompt> prompts = {};                         // continued side by side
    std::span<const formats::Image> images = {};              // that each prompt is about; valid during the call
    bool own_image = false;                                   // each prompt is about the image at its place alone
    std::optional<models::GenerationSettings> settings = {};  // none: settings_of the model
    std::int64_t usual_new_tokens = 256;                      // at most, where the settings do not say
    std::vector<std::string> stops = {};                      // texts to stop before
    ContextRule context = {};
    // Whether log-probabilities are wanted: of the chosen token and of so many of the most probable ones.
    std::optional<std::int64_t> log_probabilities = {};
    // Of a lone prompt: what it has in common with the one before is not read again, and its caches are kept.
    bool reuse_cache = true;
    std::int64_t prefill_chunk = 512;  // tokens of a prompt read at once; 0: all
    std::function<void(std::int64_t done, std::int64_t total)> on_prefill = {};  // told between these parts
    std::function<bool()> is_cancelled = {};  // asked between these parts and between tokens; true ends all texts
};

// A token, and the text that is certain with it; what is certain only at the end comes without a token.
struct TextPiece {
    std::size_t row = 0;         // of the prompt
    std::string_view text = {};  // whole characters; often empty. Valid during the call, as the rest is
    std::optional<std::int64_t> id = {};
    double log_probability = 0;                   // where asked for
    std::span<const TokenProbability> most = {};  // likewise, by falling probability
};
// Beams give all pieces at once when the search is over.
using OnPiece = std::function<void(const TextPiece& piece)>;

struct TokenLogProbabilities {
    std::int64_t id = 0;
    double log_probability = 0;
    std::vector<TokenProbability> most = {};
};

struct GeneratedText {
    std::string text = {};                  // empty where there is no tokenizer
    std::vector<std::int64_t> tokens = {};  // the new ones; a stop id is the last
    Ending ending = Ending::Length;
    std::vector<TokenLogProbabilities> log_probabilities = {};  // per token, where asked for
    double score = 0;                                           // of a beam
};

struct GenerationTimings {
    std::int64_t prompt_tokens = 0, reused_tokens = 0;  // of all prompts; those of them that were in the caches
    std::int64_t steps = 0;                             // how often tokens were fed back
    std::int64_t decoded_tokens = 0;                    // how many tokens those were
    double prefill_seconds = 0, first_token_seconds = 0, decode_seconds = 0;
};

struct GenerationResult {
    std::vector<GeneratedText> texts = {};  // per prompt
    GenerationTimings timings = {};
    std::int64_t forgotten = 0;  // tokens that shifts of the context left out
    std::int64_t cache_bytes = 0;
};

// One at a time: a generator keeps the caches of its last lone prompt. The model must outlive it, and may be shared.
class Generator {
   public:
    explicit Generator(const models::OpenedModel& model);

    GenerationResult generate(const GenerationRequest& request, const OnPiece& on_piece = {});
    void clear_cache() { cache_.clear(); }

   private:
    const models::OpenedModel& model_;
    PrefixCache cache_;
};

// What the model's files say of generating. They name the ids that end a text; where they do not, it is the tokenizer's
// end of text.
models::GenerationSettings settings_of(const models::OpenedModel& model);

// Whether prompts are texts about images.
bool looks_at_images(const models::OpenedModel& model);

// "stop", "length", "context" or "cancelled".
const char* name_of(Ending ending);

}  // namespace tessera::inference
