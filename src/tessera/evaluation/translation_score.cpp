#include "tessera/evaluation/translation_score.h"

#include <algorithm>
#include <numeric>

namespace tessera::evaluation {

evaluation::Bleu translation_score(const models::OpenedModel& model, const models::GenerationSettings& settings,
                                   const data::TextPairs& pairs, const TranslationScoreOptions& options) {
    // Texts of about one length go side by side, so that none waits for another.
    std::vector<std::int64_t> order(static_cast<std::size_t>(std::min(options.most_pairs, pairs.size())));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return pairs.at(a).source.size() < pairs.at(b).source.size();
    });
    inference::Generator generator(model);
    evaluation::Bleu bleu;
    const auto batch = static_cast<std::size_t>(options.batch);
    for (std::size_t begin = 0; begin < order.size(); begin += batch) {
        const std::size_t end = std::min(begin + batch, order.size());
        std::vector<inference::Prompt> prompts;
        std::int64_t longest = 0;
        for (std::size_t i = begin; i < end; ++i) {
            inference::Prompt prompt{.text = std::string(pairs.at(order[i]).source)};
            prompt.ids = inference::ids_of(model, prompt);
            longest = std::max(longest, static_cast<std::int64_t>(prompt.ids.size()));
            prompts.push_back(std::move(prompt));
        }
        models::GenerationSettings limited = settings;
        if (!limited.max_new_tokens && !limited.max_length) limited.max_new_tokens = 2 * longest + 10;
        const std::vector<inference::GeneratedText> found =
            generator.generate({.prompts = std::move(prompts), .settings = limited}).texts;
        for (std::size_t i = begin; i < end; ++i) bleu.add(found[i - begin].text, pairs.at(order[i]).target);
        if (options.on_progress)
            options.on_progress(static_cast<std::int64_t>(end), static_cast<std::int64_t>(order.size()));
    }
    return bleu;
}

}  // namespace tessera::evaluation
