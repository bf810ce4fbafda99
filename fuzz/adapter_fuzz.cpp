// A folder of adapters with any fields and tensors over a small base is read or is one Error.
#include <cstdlib>

#include "made_tensors.h"
#include "scratch_folder.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"

using namespace tessera;
using formats::Json;

namespace {

constexpr const char* llama = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 16,
    "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2})";
constexpr const char* bert = R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"],
    "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2})";

constexpr const char* fields[] = {"peft_type",     "base_model_name_or_path", "lora_alpha",       "r",
                                  "alpha_pattern", "modules_to_save",         "use_rslora",       "lora_dropout",
                                  "use_dora",      "init_lora_weights",       "target_parameters"};

constexpr const char* tensor_names[] = {"model.layers.0.self_attn.q_proj.lora_A.weight",
                                        "model.layers.0.self_attn.q_proj.lora_B.weight",
                                        "model.layers.0.mlp.down_proj.lora_A.default.weight",
                                        "model.layers.0.mlp.down_proj.lora_B.default.weight",
                                        "bert.encoder.layer.0.attention.self.query.lora_A.weight",
                                        "bert.encoder.layer.0.attention.self.query.lora_B.weight",
                                        "classifier.weight",
                                        "classifier.modules_to_save.bias",
                                        "classifier.out_proj.weight",
                                        "x.lora_A.weight",
                                        ""};

Json value_of(TakenBytes& in) {
    const Json values[] = {"LORA",
                           4,
                           Json(),
                           0,
                           -1,
                           1e300,
                           "",
                           ".",
                           "..",
                           "nowhere",
                           true,
                           Json::array(),
                           Json::object(),
                           Json::object().set("q_proj", in.byte()),
                           Json::object().set(std::to_string(in.byte()), "x"),
                           Json::array().push_back("classifier"),
                           Json::array().push_back(3)};
    return in.one_of(values);
}

template <class Action>
void try_to(const Action& action) {
    try {
        action();
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const ScratchFolder folder;
    TakenBytes in(bytes, size);
    const models::Config base(Json::parse(in.byte() % 2 == 0 ? llama : bert, "base"), "base");
    Json config = Json::object().set("peft_type", "LORA").set("lora_alpha", 2);
    for (int count = in.byte() % 4; count > 0; --count) {
        const char* field = in.one_of(fields);
        config.set(field, value_of(in));
    }
    formats::NamedTensors tensors;
    for (const char* name : tensor_names)
        if (in.byte() % 2 == 0) tensors.emplace_back(std::string("base_model.model.") + name, made_tensor(in));
    const std::string text = config.dump(0);
    const std::filesystem::path home =
        folder.write("adapter_config.json", reinterpret_cast<const std::uint8_t*>(text.data()), text.size())
            .parent_path();
    try_to([&] {
        formats::write_safetensors(home / "adapter_model.safetensors", tensors, {});
        const models::Config adapted = models::adapted_config(base, home);
        models::apply_adapters(*models::build(adapted), home);
    });
    try_to([&] { models::base_of_adapters(home); });
    try_to([&] { models::config_named(home); });
    return 0;
}
