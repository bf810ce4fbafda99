#include "tessera/evaluation/retrieval.h"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/core/error.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"
#include "tessera/training/run/trainer.h"

namespace tessera::evaluation {
namespace {

// What has been embedded so far; a text that several images share stands there once.
struct Embedded {
    std::vector<Tensor> images, texts;
    std::map<std::vector<std::int64_t>, std::int64_t> known;  // ids of a text → its number
    std::vector<std::int64_t> own;

    void add(const Tensor& ids, const Tensor& image_rows, const Tensor& text_rows) {
        images.push_back(image_rows);
        for (std::int64_t row = 0; row < ids.size(0); ++row) {
            const auto next = static_cast<std::int64_t>(known.size());
            const auto [found, is_new] = known.emplace(ops::select(ids, 0, row).to_vector<std::int64_t>(), next);
            if (is_new) texts.push_back(ops::slice(text_rows, 0, row, row + 1));
            own.push_back(found->second);
        }
    }
};

}  // namespace

// Of N − 1 other texts, `ahead` fit better; none of the k − 1 that are drawn may be one of them.
double Retrieval::accuracy(std::int64_t candidates) const {
    check(candidates >= 1 && candidates <= texts, "accuracy among ", candidates, " texts: there are ", texts);
    check(!ahead.empty(), "accuracy of no images");
    double sum = 0;
    for (const std::int64_t better : ahead) {
        double chance = 1;
        for (std::int64_t drawn = 0; drawn < candidates - 1; ++drawn)
            chance *= static_cast<double>(std::max<std::int64_t>(0, texts - 1 - better - drawn)) /
                      static_cast<double>(texts - 1 - drawn);
        sum += chance;
    }
    return sum / static_cast<double>(ahead.size());
}

Retrieval rank_texts(const Tensor& images, const Tensor& texts, const std::vector<std::int64_t>& own) {
    const NoGrad no_grad;
    Retrieval result{.texts = texts.size(0), .ahead = {}};
    constexpr std::int64_t rows = 256;  // of the matrix of similarities at once
    for (std::int64_t first = 0; first < images.size(0); first += rows) {
        const std::int64_t end = std::min(first + rows, images.size(0));
        const std::vector<float> scores =
            ops::matmul(ops::slice(images, 0, first, end), texts, {.transpose_b = true}).to_vector<float>();
        for (std::int64_t image = first; image < end; ++image) {
            const float* row = scores.data() + (image - first) * texts.size(0);
            const std::int64_t mine = own[static_cast<std::size_t>(image)];
            result.ahead.push_back(std::count_if(row, row + texts.size(0), [&](const float& score) {
                return &score != row + mine && !(score < row[mine]);
            }));
        }
    }
    return result;
}

Retrieval retrieve(const models::Model& model, const training::Objective& objective, const training::Recipe& recipe,
                   const training::EvaluationOptions& options) {
    const NoGrad no_grad;
    Embedded embedded;
    const std::int64_t all = std::min(objective.examples(), options.most_examples);
    for (std::int64_t number = 0; number * recipe.batch < all; ++number) {
        std::vector<std::int64_t> examples;
        for (std::int64_t i = number * recipe.batch; i < std::min((number + 1) * recipe.batch, all); ++i)
            examples.push_back(i);
        const training::TrainingBatch batch = objective.batch(examples, {});
        const Tensor ids = batch.inputs.input_ids;
        Tensor images, texts;
        model.forward(models::moved_to(batch.inputs, options.device), {},
                      [&](const std::string& name, const Tensor& value) {
                          if (name == "image_embeds") images = value.to(cpu).to(DType::F32);
                          if (name == "text_embeds") texts = value.to(cpu).to(DType::F32);
                      });
        check(images.defined() && texts.defined(), recipe.resolved.source(),
              ": objective: the model does not compare images with texts");
        embedded.add(ids, images, texts);
        if (options.on_progress) options.on_progress(examples.back() + 1, all);
    }
    check(!embedded.own.empty(), recipe.resolved.source(), ": the data holds no images");
    return rank_texts(ops::concat(embedded.images, 0), ops::concat(embedded.texts, 0), embedded.own);
}

std::vector<Choice> choices_of(const Retrieval& found) {
    std::vector<Choice> choices;
    for (const std::int64_t candidates : std::set<std::int64_t>{10, 100, found.texts})
        if (candidates <= found.texts)
            choices.push_back({candidates, found.accuracy(candidates), 1 / static_cast<double>(candidates)});
    return choices;
}

}  // namespace tessera::evaluation
