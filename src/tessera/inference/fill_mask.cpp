#include "tessera/inference/fill_mask.h"

#include <algorithm>

#include "tessera/inference/generator.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

std::int64_t mask_of(const models::OpenedModel& model) {
    const auto& tokenizer = model.text();
    if (tokenizer.special.mask) return *tokenizer.special.mask;
    for (const char* usual : {"[MASK]", "<mask>"})
        if (const auto id = tokenizer.id(usual)) return *id;
    fail(model.path.string(), ": its tokenizer has no mask token");
}

}  // namespace

std::vector<std::vector<Filler>> fill_mask(const models::OpenedModel& model, const std::string& text,
                                           std::int64_t count) {
    const NoGrad no_grad;
    const std::int64_t mask = mask_of(model);
    const std::vector<std::int64_t> ids = model.text().encode(text);
    check(std::count(ids.begin(), ids.end(), mask) > 0, "the text has no ", model.text().token(mask), " to fill");
    models::Batch batch = batch_of({ids});
    batch.input_ids = batch.input_ids.to(model.device);
    batch.attention_mask = batch.attention_mask.to(model.device);
    const Tensor logits = model.model->forward(batch);
    check(logits.rank() == 3 && logits.size(2) == model.vocabulary(), model.path.string(),
          ": the model gives no logits of tokens; has it a language-model head?");
    std::vector<std::vector<Filler>> gaps;
    for (std::size_t at = 0; at < ids.size(); ++at) {
        if (ids[at] != mask) continue;
        const Tensor row = ops::select(ops::select(logits, 0, 0), 0, static_cast<std::int64_t>(at));
        const auto probabilities = ops::softmax(row.to(DType::F32)).to_vector<float>();
        std::vector<std::int64_t> order(probabilities.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
        const auto end = order.begin() + std::min<std::int64_t>(count, static_cast<std::int64_t>(order.size()));
        std::partial_sort(order.begin(), end, order.end(), [&](std::int64_t a, std::int64_t b) {
            return probabilities[static_cast<std::size_t>(a)] > probabilities[static_cast<std::size_t>(b)];
        });
        std::vector<Filler> fillers;
        for (auto id = order.begin(); id != end; ++id) {
            std::vector<std::int64_t> filled = ids;
            filled[at] = *id;
            // Other gaps stay visible, so only the tokens around the text are left out.
            std::vector<std::int64_t> shown;
            for (const std::int64_t one : filled)
                if (one == mask || one == *id || !model.text().is_special(one)) shown.push_back(one);
            fillers.push_back({.id = *id,
                               .token = model.text().decode(std::vector<std::int64_t>{*id}),
                               .probability = probabilities[static_cast<std::size_t>(*id)],
                               .text = model.text().decode(shown)});
        }
        gaps.push_back(std::move(fillers));
    }
    return gaps;
}

}  // namespace tessera::inference
