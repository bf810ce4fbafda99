// What models say they can do is what works: every family of the catalog, and each kind of head, tries everything.
#include "tessera/models/capabilities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "support/golden_folders.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/count_trainable.h"
#include "tessera/models/layer_wise.h"
#include "tessera/models/new_head.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::random_tensor;

constexpr std::int64_t rows = 2, length = 6;

const char* const without_golden[] = {
    R"({"model_type": "rnn_lm", "cell": "gru", "vocabulary_size": 11, "hidden_width": 6})",
    R"({"model_type": "bahdanau", "source_vocabulary_size": 11, "target_vocabulary_size": 10, "hidden_width": 5,
        "decoder_start_token_id": 1, "bidirectional": true})",
    R"({"model_type": "autoencoder", "input_width": 12, "encoder_widths": [7, 3]})",
    R"({"model_type": "mlp_classifier", "input_width": 12, "hidden_widths": [7], "classes": 4})",
    R"({"model_type": "ngram", "vocabulary_size": 11, "order": 2, "smoothing": 0.5})",
    R"({"model_type": "ngram", "vocabulary_size": 11, "order": 2, "smoothing": "kneser_ney"})",
    R"({"model_type": "palm", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 12})",
    R"({"model_type": "siglip_vision_model", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1,
        "intermediate_size": 10, "image_size": 8, "patch_size": 4})",
    R"({"model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 12, "num_attention_heads": 3,
        "num_hidden_layers": 1, "intermediate_size": 20, "image_size": 8, "patch_size": 4})",
    R"({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 11, "hidden_size": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12})",
    R"({"model_type": "roberta", "architectures": ["RobertaForSequenceClassification"], "vocab_size": 11,
        "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
        "max_position_embeddings": 20, "id2label": {"0": "bad", "1": "fair", "2": "good"}})",
};

std::vector<Config> examples() {
    std::vector<Config> all;
    for (const char* json : without_golden) all.push_back(config_of(json));
    for (const auto& folder : testing::model_folders()) all.push_back(formats::read_config(folder));
    return all;
}

// One model and what it is tried with.
class Tried {
   public:
    explicit Tried(const Config& config) : model(initialised(config, 1)) {
        if (auto* counted = dynamic_cast<CountTrainable*>(model.get())) {
            counted->count(std::vector<std::int64_t>{3, 4, 5, 6, 7, 8, 3, 4, 6}, true);
            counted->estimate();
        }
        const Config vision = config.section_or_empty("vision_config");
        const Config& of_images = config.has("vision_config") ? vision : config;
        if (config.has("input_width")) {
            pixels = random_tensor({rows, config.integer("input_width")}, 1).to(DType::F32);
        } else if (of_images.has("image_size")) {
            const std::int64_t side = of_images.integer("image_size");
            pixels = random_tensor({rows, of_images.integer("num_channels", 3), side, side}, 1).to(DType::F32);
        }
    }

    bool works(Capability one) const {
        try {
            return tried(one);
        } catch (const Error&) {
            return false;
        }
    }

    std::unique_ptr<Model> model;

   private:
    static Tensor ids(std::int64_t last = 8) {
        return Tensor::from<std::int64_t>({3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, last}, {rows, length});
    }
    static Tensor targets() { return Tensor::from<std::int64_t>({3, 4, 5, 8, 7, 6}, {rows, 3}); }

    std::map<std::string, Tensor> told_by(const Batch& batch) const {
        std::map<std::string, Tensor> told;
        told["output"] =
            model->forward(batch, {}, [&](const std::string& name, const Tensor& value) { told[name] = value; });
        return told;
    }

    // Whether what is said of a text's first token depends on its last.
    bool looks_ahead() const {
        const auto first = [&](std::int64_t last) {
            return ops::select(ops::select(model->forward({.input_ids = ids(last)}), 0, 1), 0, 0).to_vector<float>();
        };
        return first(3) != first(8);
    }

    bool gives_classes(const Batch& batch) const {
        const auto count = static_cast<std::int64_t>(model->class_names.size());
        return count > 0 && model->forward(batch).shape() == Shape{rows, count};
    }

    bool generates() const {
        const auto session = model->decode(16);
        const Tensor logits = session->prefill({.input_ids = ids()});
        return logits.rank() == 2 && session->step(Tensor::full({rows, 1}, 3, DType::I64)).shape() == logits.shape();
    }

    bool aligns() const {
        std::vector<Tensor> looked_at;
        nn::Context context;
        context.cross_attention = &looked_at;
        model->forward({.input_ids = ids(), .decoder_input_ids = targets()}, context);
        return !looked_at.empty() && looked_at.back().shape() == Shape{rows, 3, length};
    }

    bool embeds_images() const {
        if (!pixels.defined()) return false;
        const auto states = [&](const Batch& batch) {
            const auto told = told_by(batch);
            const auto found = told.find(told.contains("last_hidden") ? "last_hidden" : "vision_last_hidden");
            return found != told.end() && found->second.rank() == 3;
        };
        return model->can(Capability::CompareImages) ? states({.input_ids = ids(), .pixel_values = pixels})
                                                     : states({.pixel_values = pixels});
    }

    bool describes_images() const {
        const Vision* vision = architecture_of(model->config).vision;
        if (!vision || !vision->prompt) return false;
        std::vector<std::int64_t> prompt(static_cast<std::size_t>(vision->tokens(model->config)),
                                         model->config.integer("image_token_index"));
        prompt.insert(prompt.end(), {3, 4});
        const auto count = static_cast<std::int64_t>(prompt.size());
        return model->decode(count + 1)
                   ->prefill(
                       {.input_ids = Tensor::from(prompt, {1, count}), .pixel_values = ops::slice(pixels, 0, 0, 1)})
                   .rank() == 2;
    }

    bool reconstructs() const {
        const Batch batch{.pixel_values = pixels};
        return pixels.defined() && model->forward(batch).elements() == pixels.elements() &&
               std::isfinite(model->loss(batch).item());
    }

    bool tried(Capability one) const {
        const NoGrad no_grad;
        const Batch text{.input_ids = ids()};
        switch (one) {
            case Capability::Generate: return generates();
            case Capability::Score: return std::isfinite(model->loss(text).item()) && !looks_ahead();
            case Capability::EncodeDecode: {
                const Tensor logits = model->forward({.input_ids = ids(), .decoder_input_ids = targets()});
                return logits.rank() == 3 && logits.size(1) == 3;
            }
            case Capability::Align: return aligns();
            case Capability::Fill:
                return model->forward(text).size(1) == length && looks_ahead() &&
                       std::isfinite(model->loss({.input_ids = ids(), .labels = ids()}).item());
            case Capability::EmbedTexts: {
                const auto told = told_by(text);
                return told.contains("last_hidden") && told.at("last_hidden").rank() == 3;
            }
            case Capability::EmbedImages: return embeds_images();
            case Capability::ClassifyTexts: return gives_classes(text);
            case Capability::ClassifyImages: return gives_classes({.pixel_values = pixels});
            case Capability::LearnClasses: {
                const std::vector<std::string> names = {"this", "that"};
                return build(with_classes(model->config, names))->class_names == names;
            }
            case Capability::CompareImages: {
                const auto told = told_by({.input_ids = ids(), .pixel_values = pixels});
                return told.contains("image_embeds") && told.contains("text_embeds");
            }
            case Capability::DescribeImages: return describes_images();
            case Capability::Reconstruct: return reconstructs();
            case Capability::LearnLayerwise: return dynamic_cast<const LayerWise*>(model.get()) != nullptr;
            case Capability::Count: return dynamic_cast<const CountTrainable*>(model.get()) != nullptr;
        }
        return false;
    }

    Tensor pixels;
};

TEST(Capabilities, WhatEveryFamilySaysIsWhatWorks) {
    std::set<std::string> families;
    for (const Config& config : examples()) {
        const Tried example(config);
        families.insert(config.text("model_type"));
        EXPECT_FALSE(example.model->capabilities.empty()) << config.source();
        for (const Capability one : all_capabilities())
            EXPECT_EQ(example.model->can(one), example.works(one))
                << config.text("model_type") << " of " << config.source() << ": " << name_of(one);
    }
    for (const Architecture* architecture : catalog())
        EXPECT_TRUE(families.contains(architecture->model_type)) << architecture->model_type << " is not tried";
}

TEST(Capabilities, ErrorsSayWhatAModelCanDo) {
    const auto model = build(config_of(without_golden[3]));
    testing::expect_error([&] { model->require(Capability::DescribeImages, "DIR"); },
                          {"DIR: a mlp_classifier classifies images and learns layer by layer; it does not continue "
                           "texts about images"});
    EXPECT_NO_THROW(model->require(Capability::ClassifyImages, "DIR"));
    testing::expect_error([&] { build(config_of(without_golden[2]))->decode(4); },
                          {"config.json: an autoencoder reconstructs images", "it does not generate text"});
}

TEST(Capabilities, NamesAndTextsAreDistinct) {
    std::set<std::string> names, texts;
    for (const Capability one : all_capabilities()) {
        names.insert(name_of(one));
        texts.insert(infinitive_of(one));
        EXPECT_EQ(Capabilities{one}.list(), std::vector<Capability>{one});
    }
    EXPECT_EQ(names.size(), all_capabilities().size());
    EXPECT_EQ(texts.size(), all_capabilities().size());
    EXPECT_EQ(text_of_all({}), "does nothing by itself");
}

}  // namespace
}  // namespace tessera::models
