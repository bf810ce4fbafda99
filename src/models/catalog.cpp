#include "models/catalog.h"

#include <algorithm>

#include "models/families.h"
#include "models/presets.h"

namespace tessera::models {
namespace {

constexpr Architecture architectures[] = {
    {"autoencoder", "Hinton & Salakhutdinov, Reducing the Dimensionality of Data with Neural Networks, 2006",
     autoencoder},
    {"bahdanau", "Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate, 2014",
     bahdanau},
    {"bart", "Lewis et al., BART: Denoising Sequence-to-Sequence Pre-training, 2019", bart},
    {"bert", "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, 2018",
     bert},
    {"deepseek_v2", "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model, 2024",
     deepseek_v2},
    {"falcon", "Almazrouei et al., The Falcon Series of Open Language Models, 2023", falcon},
    {"gemma", "Gemma Team, Gemma: Open Models Based on Gemini Research and Technology, 2024", gemma},
    {"gemma2", "Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size, 2024", gemma2},
    {"gemma3_text", "Gemma Team, Gemma 3 Technical Report, 2025", gemma3_text},
    {"gpt2", "Radford et al., Language Models are Unsupervised Multitask Learners, 2019", gpt2},
    {"gpt_neox", "Black et al., GPT-NeoX-20B: An Open-Source Autoregressive Language Model, 2022", gpt_neox},
    {"llama", "Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023", llama},
    {"longformer", "Beltagy et al., Longformer: The Long-Document Transformer, 2020", longformer},
    {"marian", "Vaswani et al., Attention Is All You Need, 2017; Junczys-Dowmunt et al., Marian, 2018", marian},
    {"mistral", "Jiang et al., Mistral 7B, 2023", mistral},
    {"mixtral", "Jiang et al., Mixtral of Experts, 2024", mixtral},
    {"mlp_classifier", "Rumelhart et al., Learning Representations by Back-Propagating Errors, 1986", mlp_classifier},
    {"ngram", "Shannon, A Mathematical Theory of Communication, 1948", ngram},
    {"paligemma", "Beyer et al., PaliGemma: A versatile 3B VLM for transfer, 2024", paligemma},
    {"palm", "Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022", palm},
    {"phi3", "Abdin et al., Phi-3 Technical Report, 2024", phi3},
    {"qwen2", "Yang et al., Qwen2 Technical Report, 2024", qwen2},
    {"qwen3", "Yang et al., Qwen3 Technical Report, 2025", qwen3},
    {"rnn_lm", "Mikolov et al., Recurrent Neural Network Based Language Model, 2010", rnn_lm},
    {"roberta", "Liu et al., RoBERTa: A Robustly Optimized BERT Pretraining Approach, 2019", roberta},
    {"t5", "Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, 2020",
     t5},
    {"siglip", "Zhai et al., Sigmoid Loss for Language Image Pre-Training, 2023", siglip},
    {"siglip_vision_model", "Zhai et al., Sigmoid Loss for Language Image Pre-Training, 2023", siglip_vision_model},
    {"vit", "Dosovitskiy et al., An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale, 2020",
     vit},
};

}  // namespace

Config config_named(const std::string& name) {
    const auto known = presets();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Preset& preset) { return name == preset.name; });
    if (found != known.end()) return {formats::Json::parse(found->text, name), name};
    check(std::filesystem::exists(name), name,
          ": neither a folder, a config.json nor a preset; `tessera inspect --list` shows the presets");
    return formats::read_config(name);
}

std::span<const Architecture> catalog() { return architectures; }

const Architecture& architecture_of(const Config& config) {
    const std::string type = config.text("model_type");
    const auto* found = std::find_if(std::begin(architectures), std::end(architectures),
                                     [&](const Architecture& entry) { return type == entry.model_type; });
    if (found == std::end(architectures)) {
        std::string known;
        for (const Architecture& entry : architectures) known += text_of(known.empty() ? "" : ", ", entry.model_type);
        config.reject("model_type", text_of("'", type, "' is not known; there are: ", known));
    }
    return *found;
}

std::unique_ptr<Model> build(const Config& config) { return architecture_of(config).build(config); }

std::unique_ptr<Model> initialised(const Config& config, std::uint64_t seed, DType dtype,
                                   const std::function<void(const Tensor& parameter)>& on_parameter) {
    std::unique_ptr<Model> model = build(config);
    for (const auto& [name, tensor] : nn::parameters(*model)) *tensor = Tensor::deferred(tensor->shape(), dtype);
    nn::initialise(*model, {.seed = seed}, config.number("initializer_range", 0.02), on_parameter);
    return model;
}

std::unique_ptr<Model> load(const formats::Checkpoint& checkpoint) {
    std::unique_ptr<Model> model = build(checkpoint.config);
    load_weights(*model, model->weights, checkpoint.tensors, checkpoint.folder.string());
    return model;
}

std::unique_ptr<Model> load(const std::filesystem::path& folder) { return load(formats::open_checkpoint(folder)); }

void save(Model& model, const std::filesystem::path& folder, const formats::WriteOptions& options) {
    formats::write_checkpoint(
        folder, model.config,
        checkpoint_tensors(model, model.weights, [](const Tensor& value) { return value.detach(); }), options);
}

}  // namespace tessera::models
