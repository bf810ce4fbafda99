#include "tessera/inference/translation_alignment.h"

#include <algorithm>

#include "tessera/data/token_words.h"
#include "tessera/plots/svg.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

using Ids = std::vector<std::int64_t>;

// Words of a row of tokens: where each begins, and what it says.
struct Words {
    std::vector<std::size_t> starts;
    std::vector<std::string> texts;

    std::size_t end(std::size_t word) const { return word + 1 < starts.size() ? starts[word + 1] : tokens; }
    std::size_t tokens = 0;
};

std::string trimmed(std::string text) {
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
    text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
    text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
    return text;
}

Words words_of(const Ids& ids, const tokenizers::Tokenizer& tokenizer) {
    const data::TokenWords rule(tokenizer);
    std::vector<std::size_t> starts = rule.starts(ids);
    starts.push_back(ids.size());
    Words words{.starts = {}, .texts = {}, .tokens = ids.size()};
    for (std::size_t word = 0; word + 1 < starts.size(); ++word) {
        const std::size_t begin = starts[word];
        const std::string text =
            tokenizer.is_special(ids[begin])
                ? tokenizer.token(ids[begin])
                : trimmed(tokenizer.decode(std::span(ids).subspan(begin, starts[word + 1] - begin)));
        if (text.empty() && word > 0) continue;  // a space belongs to the word before it: a map has no column for it
        words.starts.push_back(begin);
        words.texts.push_back(text);
    }
    return words;
}

// The mean over layers of (1, U, S).
std::vector<double> mean_weights(const std::vector<Tensor>& layers) {
    std::vector<double> mean(static_cast<std::size_t>(layers[0].elements()), 0);
    for (const Tensor& layer : layers) {
        const std::vector<double> values = layer.to_vector<double>();
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += values[i] / static_cast<double>(layers.size());
    }
    return mean;
}

}  // namespace

Alignment align(const models::OpenedModel& model, const Prompt& prompt, const Ids& translation) {
    const NoGrad no_grad;
    check(!translation.empty(), "an empty translation has no alignment");
    const Ids source = ids_of(model, prompt);
    models::Batch batch = batch_for(model, {{.ids = source}});
    // The decoder's weights at a place belong to the token that it predicts there.
    batch.labels = Tensor::from(translation, {1, static_cast<std::int64_t>(translation.size())}).to(model.device);
    batch.attention_mask = batch.decoder_input_ids = {};
    std::vector<Tensor> layers;
    nn::Context context;
    context.cross_attention = &layers;
    model.model->forward(batch, context);
    check(!layers.empty(), model.path.string(), ": this model's attention between two texts cannot be seen");
    const std::vector<double> weights = mean_weights(layers);
    const Words from = words_of(source, model.text()), to = words_of(translation, model.text());
    Alignment alignment{.source = from.texts, .target = to.texts, .weights = {}};
    for (std::size_t row = 0; row < to.starts.size(); ++row)
        for (std::size_t column = 0; column < from.starts.size(); ++column) {
            double sum = 0;
            for (std::size_t u = to.starts[row]; u < to.end(row); ++u)
                for (std::size_t s = from.starts[column]; s < from.end(column); ++s)
                    sum += weights[u * source.size() + s];
            alignment.weights.push_back(sum / static_cast<double>(to.end(row) - to.starts[row]));
        }
    return alignment;
}

std::string alignment_svg(const Alignment& alignment) {
    constexpr double cell = 26, letter = 7.5, margin = 16;
    const auto longest = [](const std::vector<std::string>& words) {
        std::size_t most = 1;
        for (const std::string& word : words) most = std::max(most, word.size());
        return letter * static_cast<double>(most) + margin;
    };
    const double left = longest(alignment.target), top = longest(alignment.source) * 0.8 + margin;
    const plots::PlotArea area{.left = left,
                               .top = top,
                               .width = cell * static_cast<double>(alignment.source.size()),
                               .height = cell * static_cast<double>(alignment.target.size())};
    plots::Svg svg(area.right() + longest(alignment.source) * 0.6 + margin, area.bottom() + margin);
    for (std::size_t i = 0; i < alignment.source.size(); ++i)
        svg.text(left + cell * (static_cast<double>(i) + 0.6), top - 6, alignment.source[i], {.turned = -50});
    for (std::size_t i = 0; i < alignment.target.size(); ++i)
        svg.text(left - 6, top + cell * (static_cast<double>(i) + 0.65), alignment.target[i],
                 {.anchor = plots::Anchor::End});
    svg.heat_map(area, alignment.weights, alignment.source.size(), 1);
    return svg.finished();
}

}  // namespace tessera::inference
