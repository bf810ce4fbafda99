#include "models/catalog.h"

#include <algorithm>

#include "models/families.h"

namespace tessera::models {
namespace {

constexpr Architecture architectures[] = {
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
    {"palm", "Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022", palm},
    {"phi3", "Abdin et al., Phi-3 Technical Report, 2024", phi3},
    {"qwen2", "Yang et al., Qwen2 Technical Report, 2024", qwen2},
    {"qwen3", "Yang et al., Qwen3 Technical Report, 2025", qwen3},
    {"roberta", "Liu et al., RoBERTa: A Robustly Optimized BERT Pretraining Approach, 2019", roberta},
    {"t5", "Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, 2020",
     t5},
};

}  // namespace

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
