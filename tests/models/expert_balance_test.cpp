// The loss that keeps experts equally busy: each family's definition written out in doubles, and where it counts.
#include "tessera/models/expert_balance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/module_check.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_gradients;
using testing::expect_rejected;
using testing::randomise;
using testing::replaced;

const std::string together = R"({"model_type": "mixtral", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 6, "num_local_experts": 4,
    "num_experts_per_tok": 2, "output_router_logits": true, "router_aux_loss_coef": 0.5})";
const std::string by_sequence = R"({"model_type": "deepseek_v2", "vocab_size": 11, "hidden_size": 8,
    "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 6, "moe_intermediate_size": 5,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "q_lora_rank": null, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4,
    "aux_loss_alpha": 0.5, "seq_aux": true})";

constexpr std::size_t experts = 4, per_token = 2, length = 5;

Batch batch_of(bool padded) {
    Batch batch{.input_ids = Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, length})};
    if (padded) batch.attention_mask = Tensor::from<std::int64_t>({1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {2, length});
    return batch;
}

// Sums over tokens of one group: how often each expert was among the likeliest, and its probabilities.
struct Group {
    std::vector<double> chosen = std::vector<double>(experts), probability = std::vector<double>(experts);
    double tokens = 0;

    void add(const double* logits) {
        std::vector<double> p(logits, logits + experts);
        double sum = 0;
        for (double& value : p) sum += value = std::exp(value);
        for (std::size_t e = 0; e < experts; ++e) {
            std::size_t better = 0;
            for (const double other : p) better += other > p[e];
            chosen[e] += better < per_token;
            probability[e] += p[e] / sum;
        }
        ++tokens;
    }
    double loss() const {
        double sum = 0;
        for (std::size_t e = 0; e < experts; ++e) sum += chosen[e] / tokens * probability[e] / tokens;
        return sum * experts;
    }
};

// A layer's tokens that are no padding, each added to the group that `group_of` names.
template <class GroupOf>
void add_tokens(const nn::RouterChoice& layer, bool padded, GroupOf group_of) {
    const auto logits = layer.logits.to_vector<double>();
    for (std::size_t token = 0; token < 2 * length; ++token)
        if (!padded || token < 8) group_of(token / length).add(logits.data() + token * experts);
}

struct Losses {
    double plain = 0, balanced = 0;
    std::vector<nn::RouterChoice> layers = {};
};

Losses losses_of(const Model& model, const Batch& batch, bool training) {
    const NoGrad no_grad;
    Losses losses;
    losses.plain = model.loss(batch, {.balance = 0.0}, {.training = training}).item();
    losses.balanced = model.loss(batch, {}, {.training = training, .router_choices = &losses.layers}).item();
    return losses;
}

TEST(ExpertBalance, AllLayersTogetherAreTheDefinition) {
    for (const bool padded : {false, true}) {
        const auto model = build(config_of(together));
        randomise(*model);
        const Losses losses = losses_of(*model, batch_of(padded), false);
        ASSERT_EQ(losses.layers.size(), 2u);
        Group all;
        for (const auto& layer : losses.layers) add_tokens(layer, padded, [&](std::size_t) -> Group& { return all; });
        EXPECT_NEAR(losses.balanced - losses.plain, 0.5 * all.loss(), 1e-12);
        EXPECT_GT(all.loss(), 1.5);  // near 2 where experts are equally busy
    }
}

TEST(ExpertBalance, SequencesOfEachLayerAreTheDefinition) {
    for (const bool padded : {false, true}) {
        const auto model = build(config_of(by_sequence));
        randomise(*model);
        const Losses losses = losses_of(*model, batch_of(padded), true);
        ASSERT_EQ(losses.layers.size(), 2u);  // the first has no experts
        double wanted = 0;
        for (const auto& layer : losses.layers) {
            Group sequences[2];
            add_tokens(layer, padded, [&](std::size_t sequence) -> Group& { return sequences[sequence]; });
            wanted += (sequences[0].loss() + sequences[1].loss()) / 2 / per_token;
        }
        EXPECT_NEAR(losses.balanced - losses.plain, 0.5 * wanted, 1e-12);
    }
}

TEST(ExpertBalance, LayersAreTheDefinition) {
    const auto model = build(config_of(replaced(by_sequence, "\"seq_aux\": true", "\"seq_aux\": false")));
    randomise(*model);
    const Losses losses = losses_of(*model, batch_of(false), true);
    double wanted = 0;
    for (const auto& layer : losses.layers) {
        Group all;
        add_tokens(layer, false, [&](std::size_t) -> Group& { return all; });
        wanted += all.loss() / per_token;
    }
    EXPECT_NEAR(losses.balanced - losses.plain, 0.5 * wanted, 1e-12);
}

TEST(ExpertBalance, ReachesEveryParameterAlsoWhenBlocksRunAgain) {
    for (const std::string& config : {together, by_sequence})
        for (const bool recompute : {false, true}) {
            const auto model = build(config_of(config));
            randomise(*model);
            expect_gradients(
                *model, [&] { return model->loss(batch_of(true), {}, {.training = true, .recompute = recompute}); });
        }
}

// Beside a loss that does not ask for it, the router hears of the balance alone.
TEST(ExpertBalance, ItsGradientIsTheRouters) {
    const auto model = build(config_of(together));
    const auto routers = [&](double weight) {
        randomise(*model);
        backward(model->loss(batch_of(false), {.balance = weight}));
        std::vector<double> all;
        for (const auto& [name, tensor] : nn::parameters(*model))
            if (name.find("router") != name.npos)
                for (const double value : tensor->grad().to_vector<double>()) all.push_back(value);
        return all;
    };
    const auto none = routers(0), once = routers(1), twice = routers(2);
    ASSERT_EQ(none.size(), 2 * experts * 8);
    double most = 0;
    for (std::size_t i = 0; i < none.size(); ++i) {
        EXPECT_NEAR(twice[i] - none[i], 2 * (once[i] - none[i]), 1e-12);
        most = std::max(most, std::abs(once[i] - none[i]));
    }
    EXPECT_GT(most, 1e-3);
}

TEST(ExpertBalance, CountsOnlyWhereTheConfigAsksForIt) {
    const auto extra = [](const std::string& config, bool training) {
        const auto model = build(config_of(config));
        randomise(*model);
        const Losses losses = losses_of(*model, batch_of(false), training);
        return losses.balanced - losses.plain;
    };
    const std::string silent = replaced(together, "\"output_router_logits\": true", "\"output_router_logits\": false");
    for (const bool training : {false, true}) {
        EXPECT_GT(extra(together, training), 0.1);
        EXPECT_EQ(extra(silent, training), 0);
    }
    EXPECT_GT(extra(by_sequence, true), 0.1);
    EXPECT_EQ(extra(by_sequence, false), 0);  // the reference has it in gradients only
    EXPECT_EQ(extra(replaced(by_sequence, "\"aux_loss_alpha\": 0.5, ", ""), true), 0);
    EXPECT_EQ(extra(replaced(by_sequence, "replace\": 1", "replace\": 3"), true), 0);  // no experts anywhere
}

TEST(ExpertBalance, AWeightBelowZeroIsRefused) {
    expect_rejected(together, "0.5", "-0.5", "router_aux_loss_coef");
    expect_rejected(by_sequence, "0.5", "-1", "aux_loss_alpha");
    expect_rejected(by_sequence, "0.5", "\"some\"", "aux_loss_alpha");
}

}  // namespace
}  // namespace tessera::models
