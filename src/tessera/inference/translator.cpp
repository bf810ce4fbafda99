#include "tessera/inference/translator.h"

#include <algorithm>

#include "tessera/inference/beam_search.h"
#include "tessera/inference/detokenizer.h"
#include "tessera/inference/generator.h"

namespace tessera::inference {

std::vector<Translated> translate(const TextModel& model, const GenerationSettings& settings,
                                  const std::vector<Prompt>& prompts, const std::vector<std::string>& stops,
                                  const ContextRule& context) {
    constexpr std::int64_t usual_length = 256;
    const models::Batch batch = batch_for(model, prompts);
    const std::int64_t most = settings.most_new_tokens(prompt_length(*model.model, batch), usual_length);
    std::vector<Translated> out(prompts.size());
    if (settings.beams.count > 1) {
        const BeamResult found = beam_search(*model.model, batch,
                                             {.beams = settings.beams,
                                              .max_new_tokens = most,
                                              .stop_ids = settings.stop_ids,
                                              .rules = settings.rules,
                                              .context = context});
        for (std::size_t row = 0; row < out.size(); ++row) {
            out[row].tokens = found.texts[row][0].tokens;
            out[row].fills_context = found.texts[row][0].fills_context;
        }
    } else {
        const Generated found = generate(*model.model, batch,
                                         {.max_new_tokens = most,
                                          .stop_ids = settings.stop_ids,
                                          .sampler = settings.sampler,
                                          .rules = settings.rules,
                                          .context = context});
        for (std::size_t row = 0; row < out.size(); ++row) {
            out[row].tokens = found.tokens[row];
            out[row].fills_context = found.endings[row] == Ending::Context;
        }
    }
    for (Translated& one : out) {
        Detokenizer text(*model.tokenizer, {}, stops);
        for (const std::int64_t id : one.tokens)
            if (std::count(settings.stop_ids.begin(), settings.stop_ids.end(), id) == 0) text.add(id);
        text.finish();
        one.text = text.whole();
    }
    return out;
}

}  // namespace tessera::inference
