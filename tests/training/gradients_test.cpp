// The gradients of one of the trainer's steps are those that the reference found, for every model that it found some
// for.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/golden_folders.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/binary.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;

double norm_of(const Tensor& x) {
    double squares = 0;
    for (const double value : x.detach().to(DType::F64).contiguous().to_vector<double>()) squares += value * value;
    return std::sqrt(squares);
}

// The reference's batch, whatever kind the model is of.
class One : public Objective {
   public:
    explicit One(const testing::Golden& golden) {
        const std::string prefix = golden.contains("train_labels") ? "train_" : "";
        const auto input = [&](const char* name) {
            const bool is_mask = name == std::string("attention_mask");
            if (golden.contains(prefix + name)) return golden[prefix + name];
            return golden.contains(name) && (prefix.empty() || !is_mask) ? golden[name] : Tensor();
        };
        batch_.inputs = {.input_ids = input("input_ids"),
                         .attention_mask = input("attention_mask"),
                         .token_type_ids = input("token_type_ids"),
                         .global_attention_mask = input("global_attention_mask"),
                         .pixel_values = input("pixel_values"),
                         .decoder_input_ids = input("decoder_input_ids"),
                         .decoder_attention_mask = input("decoder_attention_mask"),
                         .labels = input("labels")};
    }
    std::int64_t examples() const override { return 1; }
    TrainingBatch batch(const std::vector<std::int64_t>&, RandomKey) const override { return batch_; }

   private:
    TrainingBatch batch_;
};

// The reference's gradients were taken without.
std::unique_ptr<models::Model> without_dropout(const std::string& folder) {
    formats::Checkpoint checkpoint = models::open(folder);
    formats::Json config = checkpoint.config.json();
    for (const auto& [name, value] : checkpoint.config.json().members())
        if (name.find("drop") != name.npos && value.is_number()) config.set(name, 0.0);
    checkpoint.config = {std::move(config), folder};
    return models::load(checkpoint);
}

bool is_gradient(const std::string& name) { return name.starts_with("grad."); }

std::vector<fs::path> folders_with_gradients() {
    std::vector<fs::path> found;
    for (const fs::path& folder : testing::model_folders("loss")) {
        const auto tensors = formats::read_safetensors(folder / "expected.safetensors").tensors;
        if (std::any_of(tensors.begin(), tensors.end(), [](const auto& entry) { return is_gradient(entry.first); }))
            found.push_back(folder);
    }
    return found;
}

using GradientsByName = std::map<std::string, Tensor>;

GradientsByName gradients_of(models::Model& model) {
    GradientsByName found;
    for (const auto& [key, gradient] : models::checkpoint_tensors(model, model.weights, [](const Tensor& parameter) {
             return parameter.requires_grad() ? parameter.grad() : Tensor();
         }))
        found.emplace(key, gradient);
    return found;
}

class StepGradients : public ::testing::TestWithParam<fs::path> {
   protected:
    const testing::Golden expected_{GetParam().filename().string() + "/expected.safetensors"};

    // Of the trainer's first step; the model then has its gradients.
    double loss_of_step(models::Model& model) {
        const One objective(expected_);
        const Recipe recipe =
            read_recipe(resolve_recipe(formats::Json::parse(R"({"model": "m", "data": {"train": "a"}, "batch": 1,
                                                                "steps": 1, "clip": 0})",
                                                            "test"),
                                       {}, "test"));
        return Trainer(model, objective, recipe).step().loss;
    }

    // Calls f(name, found, wanted) for each of the reference's gradients.
    void for_each_gradient(models::Model& model,
                           const std::function<void(const std::string&, const Tensor&, const Tensor&)>& f) {
        const GradientsByName gradients = gradients_of(model);
        std::size_t compared = 0;
        for (const auto& [key, wanted] : expected_.tensors()) {
            if (!is_gradient(key)) continue;
            const auto found = gradients.find(models::canonical_name(model.weights, key.substr(5)));
            ASSERT_NE(found, gradients.end()) << key;
            f(key, found->second, wanted);
            ++compared;
        }
        EXPECT_GT(compared, 10u);
    }

    // How far the whole gradient is from the reference's, of its size, where weights are rounded to bf16 and then held
    // in `dtype`.
    double error_with_rounded_weights(DType dtype) {
        const auto model = without_dropout(GetParam());
        for (const auto& [name, parameter] : nn::parameters(*model))
            if (is_float(parameter->dtype())) *parameter = parameter->detach().to(DType::BF16).to(dtype);
        loss_of_step(*model);
        double error = 0, size = 0;
        for_each_gradient(*model, [&](const std::string&, const Tensor& found, const Tensor& wanted) {
            error += std::pow(norm_of(ops::sub(found.to(DType::F32), wanted)), 2);
            size += std::pow(norm_of(wanted), 2);
        });
        return std::sqrt(error / size);
    }
};

TEST_P(StepGradients, AreTheReferences) {
    const auto model = without_dropout(GetParam());
    EXPECT_NEAR(loss_of_step(*model), expected_["loss"].item(), 1e-4);
    double largest = 0;
    for_each_gradient(*model, [&](const std::string&, const Tensor&, const Tensor& wanted) {
        largest = std::max(largest, norm_of(wanted));
    });
    for_each_gradient(*model, [&](const std::string& key, const Tensor& found, const Tensor& wanted) {
        // What is zero in exact arithmetic is the rounding of the others' size.
        EXPECT_LE(norm_of(ops::sub(found, wanted)), 1e-3 * norm_of(wanted) + 1.2e-7 * largest) << key;
    });
}

// Rounding what goes into products costs no more than a few times what rounding the weights costs anyway.
TEST_P(StepGradients, StayNearTheReferencesInBf16) {
    EXPECT_LE(error_with_rounded_weights(DType::BF16), 3 * error_with_rounded_weights(DType::F32));
}

INSTANTIATE_TEST_SUITE_P(All, StepGradients, ::testing::ValuesIn(folders_with_gradients()), testing::folder_name);

}  // namespace
}  // namespace tessera::training
