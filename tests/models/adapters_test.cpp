// Adapters of whole models: PEFT's names and arithmetic, fused layers, folders that are not as they should be.
#include "tessera/models/adapters/adapters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"
#include "tessera/models/adapters/adapted_layers.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::expect_error;
using testing::Golden;
using testing::golden_path;
using testing::random_tensor;
using testing::relative_error;

Batch some_ids() { return {.input_ids = Tensor::from(std::vector<std::int64_t>{3, 9, 4, 7, 5, 11, 2, 8}, {2, 4})}; }

// Adapters that change something.
void fill(Model& model) {
    int seed = 1;
    for (const auto& [name, tensor] : nn::parameters(model))
        if (name.find("lora_B") != name.npos)
            tensor->copy_from(random_tensor(tensor->shape(), static_cast<std::uint64_t>(++seed)));
}

// Each of the model's layers, adapted through the folder, against W + (alpha / r) B A in the checkpoint's own layout.
void expect_like_the_checkpoint(const std::string& golden, const std::vector<std::string>& targets) {
    SCOPED_TRACE(golden);
    const NoGrad no_grad;
    const testing::TemporaryFolder folder;
    const auto model = load(golden_path(golden));
    attach_adapters(*model, {.rank = 3, .alpha = 6, .targets = targets}, {.seed = 5});
    EXPECT_LE(relative_error(model->forward(some_ids()), load(golden_path(golden))->forward(some_ids())), 1e-6);
    fill(*model);
    save_adapters(*model, {.rank = 3, .alpha = 6, .targets = targets}, golden_path(golden), folder / "a");
    const Tensor adapted = model->forward(some_ids());

    formats::Checkpoint checkpoint = open(golden_path(golden));
    const auto tensors = formats::read_safetensors(folder / "a" / "adapter_model.safetensors").tensors;
    const Config written(formats::Json::read(folder / "a" / "adapter_config.json"), "adapter_config.json");
    const bool is_transposed = written.boolean("fan_in_fan_out");
    int layers = 0;
    for (const auto& [name, down] : tensors) {
        const std::string end = ".lora_A.weight";
        if (!name.ends_with(end)) continue;
        const std::string layer = name.substr(17, name.size() - 17 - end.size());
        const Tensor change =
            ops::scale(ops::matmul(tensors.at("base_model.model." + layer + ".lora_B.weight"), down), 2);
        Tensor& weight = checkpoint.tensors.at(layer + ".weight");
        weight = ops::add(weight, is_transposed ? ops::transpose(change, 0, 1) : change);
        ++layers;
    }
    EXPECT_GT(layers, 0);
    EXPECT_LE(relative_error(load(checkpoint)->forward(some_ids()), adapted), 1e-5);

    const auto again = load(golden_path(golden));
    apply_adapters(*again, folder / "a");
    EXPECT_LE(relative_error(again->forward(some_ids()), adapted), 1e-6);
    merge_adapters(*again);
    EXPECT_FALSE(has_adapters(*again));
    EXPECT_LE(relative_error(again->forward(some_ids()), adapted), 1e-5);
    EXPECT_EQ(base_of_adapters(folder / "a"), golden_path(golden));
}

TEST(Adapters, AreWhatTheCheckpointsLayersWouldHave) {
    expect_like_the_checkpoint("llama-gqa", {"q_proj", "v_proj"});
    expect_like_the_checkpoint("llama", {"all-linear"});
    expect_like_the_checkpoint("deepseek-v2-lite", {"all-linear"});
}

TEST(Adapters, OfFusedAndTransposedLayers) {
    expect_like_the_checkpoint("phi3", {"qkv_proj", "gate_up_proj"});
    expect_like_the_checkpoint("gpt2", {"c_attn", "c_proj", "c_fc"});
    expect_like_the_checkpoint("falcon-40b-style", {"query_key_value"});
    expect_like_the_checkpoint("falcon-7b-style", {"all-linear"});
    expect_like_the_checkpoint("gpt-neox", {"query_key_value", "dense"});
}

TEST(Adapters, PartsOfAFusedLayerShareOneMatrixAndItsGradient) {
    const auto model = load(golden_path("phi3"));
    attach_adapters(*model, {.rank = 2, .alpha = 4, .targets = {"qkv_proj"}}, {.seed = 5});
    for (const auto& [name, layer] : adaptable_layers(*model)) {
        if (!layer.has_adapter()) continue;
        ASSERT_EQ(layer.parts.size(), 3u);
        const auto& first = static_cast<const nn::Lora&>(*layer.parts[0]->adapter);
        for (const nn::Linear* part : layer.parts)
            EXPECT_EQ(static_cast<const nn::Lora&>(*part->adapter).down.storage(), first.down.storage());
    }
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : formats::read_safetensors(folder / "adapter_model.safetensors").tensors)
        names.push_back(name);
    return names;
}

// Adapters are named by the modules that run, which may have other names than the checkpoint's tensors.
TEST(Adapters, HaveTheNamesOfTheRunningModules) {
    const testing::TemporaryFolder folder;
    const auto written = [&](const std::string& golden) {
        const auto model = load(golden_path(golden));
        attach_adapters(*model, {.rank = 1, .alpha = 1}, {.seed = 5});
        save_adapters(*model, {.rank = 1, .alpha = 1}, golden_path(golden), folder / golden);
        apply_adapters(*load(golden_path(golden)), folder / golden);  // and are read under them
        std::string all;
        for (const std::string& name : names_in(folder / golden)) all += name + "\n";
        return all;
    };
    const std::string vit = written("vit");
    for (const char* layer :
         {"attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.o_proj", "mlp.fc1", "mlp.fc2"})
        EXPECT_NE(vit.find(text_of("base_model.model.vit.layers.1.", layer, ".lora_A.weight")), vit.npos) << layer;
    EXPECT_EQ(folder.read("vit/adapter_config.json").find("query"), std::string::npos);
    EXPECT_NE(folder.read("vit/adapter_config.json").find("\"o_proj\""), std::string::npos);
    // "head" would be the whole of the other tower's head as well.
    written("siglip");
    EXPECT_NE(folder.read("siglip/adapter_config.json").find("\"text_model.head\""), std::string::npos);
    EXPECT_NE(
        written("paligemma").find("base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_B.weight"),
        std::string::npos);
}

TEST(Adapters, ALayerMayBeCalledByEitherName) {
    for (const char* target : {"query", "q_proj", "vit.layers.1.attention.q_proj"}) {
        const auto model = load(golden_path("vit"));
        attach_adapters(*model, {.rank = 1, .alpha = 1, .targets = {target}}, {});
        EXPECT_TRUE(adaptable_layers(*model).at("vit.encoder.layer.1.attention.attention.query").has_adapter());
        EXPECT_FALSE(adaptable_layers(*model).at("vit.encoder.layer.1.attention.attention.key").has_adapter());
    }
}

// What PEFT cannot hold or would not hear is not adapted unless it is asked for.
TEST(Adapters, AllLinearIsWhatPeftCanHold) {
    const auto adapted = [](const std::string& golden, const std::string& word) {
        const auto model = load(golden_path(golden));
        attach_adapters(*model, {.rank = 1, .alpha = 1}, {.seed = 5});
        for (const auto& [name, layer] : adaptable_layers(*model))
            if (layer.has_adapter() && name.find(word) != name.npos) return true;
        return false;
    };
    EXPECT_TRUE(adapted("deepseek-v2", "kv_b_proj"));
    EXPECT_FALSE(adapted("deepseek-v2", "mlp."));
    EXPECT_TRUE(adapted("siglip", "text_model.head"));
    EXPECT_TRUE(adapted("siglip", "head.mlp.fc1"));
    EXPECT_FALSE(adapted("siglip", "head.attention"));
}

TEST(Adapters, TheCacheSeesThemToo) {  // one token at a time, where latent attention absorbs a weight
    const NoGrad no_grad;
    const auto model = load(golden_path("deepseek-v2-lite"));
    attach_adapters(*model, {.rank = 3, .alpha = 6}, {.seed = 5});
    fill(*model);
    const Tensor ids = some_ids().input_ids;
    const Tensor whole = model->forward({.input_ids = ids});
    const auto session = model->decode(8);
    session->prefill({.input_ids = ops::slice(ids, 1, 0, 2).contiguous()});
    for (std::int64_t t = 2; t < 4; ++t)
        EXPECT_LE(relative_error(session->step(ops::slice(ids, 1, t, t + 1).contiguous()), ops::select(whole, 1, t)),
                  1e-5);
}

TEST(Adapters, FoldersAsTheyShouldNotBeAreRefusedByName) {
    const testing::TemporaryFolder folder;
    const auto model = load(golden_path("llama"));
    attach_adapters(*model, {.rank = 2, .alpha = 4, .targets = {"k_proj"}}, {});
    save_adapters(*model, {.rank = 2, .alpha = 4}, "nowhere", folder / "a");
    const std::string config = folder.read("a/adapter_config.json");
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = config;
        ASSERT_NE(changed.find(from), std::string::npos);
        folder.write("a/adapter_config.json", changed.replace(changed.find(from), from.size(), to));
    };
    const auto refuses = [&](const std::string& from, const std::string& to, const std::string& field) {
        with(from, to);
        expect_error([&] { apply_adapters(*load(golden_path("llama")), folder / "a"); },
                     {"adapter_config.json", field});
    };
    refuses("\"LORA\"", "\"IA3\"", "peft_type");
    refuses("\"use_dora\": false", "\"use_dora\": true", "use_dora");
    refuses("\"bias\": \"none\"", "\"bias\": \"all\"", "bias");
    refuses("\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]", "modules_to_save");
    refuses("\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", "init_lora_weights");
    folder.write("a/adapter_config.json", config);
    expect_error([&] { base_of_adapters(folder / "a"); }, {"base_model_name_or_path", "nowhere"});
    expect_error([&] { apply_adapters(*load(golden_path("gpt2")), folder / "a"); },
                 {"adapter_model.safetensors", "k_proj"});
    expect_error([&] { apply_adapters(*load(golden_path("llama-gqa")), folder / "a"); },
                 {"adapter_model.safetensors", "shape"});
}

// A folder of adapters over `golden`, with these fields put into its adapter_config.json.
void write_adapter(const testing::TemporaryFolder& folder, const formats::NamedTensors& tensors,
                   const formats::Json& fields, const std::string& name = "a") {
    formats::Json config = formats::Json::object();
    config.set("peft_type", "LORA").set("lora_alpha", 4);
    for (const auto& [key, value] : fields.members()) config.set(key, value);
    std::filesystem::create_directories(folder / name);
    config.write(folder / name / "adapter_config.json");
    formats::write_safetensors(folder / name / "adapter_model.safetensors", tensors, {{"format", "pt"}});
}

TEST(Adapters, ABaseThatLeadsNowhereIsRefused) {
    const testing::TemporaryFolder folder;
    const auto refuses = [&](const std::string& base, const std::string& reason) {
        write_adapter(folder, {}, formats::Json::object().set("base_model_name_or_path", base));
        expect_error([&] { config_named(folder / "a"); }, {"a/adapter_config.json", "base_model_name_or_path", reason});
        expect_error([&] { load(folder / "a"); }, {"a/adapter_config.json", "base_model_name_or_path", reason});
    };
    refuses("", "no place of a model");
    refuses(std::string("x\0y", 3), "no place of a model");
    refuses("../a/.", "this folder itself");
    refuses("../a", "this folder itself");
    refuses(folder / "a", "this folder itself");
    refuses("nowhere", "is not there");
    refuses(std::string(5000, 'x'), "is not there");
    write_adapter(folder, {}, formats::Json::object().set("base_model_name_or_path", (folder / "a").string()), "b");
    refuses("../b", "holds adapters itself");
}

TEST(Adapters, AShapeIsNoReasonToNameClasses) {
    const testing::TemporaryFolder folder;
    const std::string name = "base_model.model.classifier.weight";
    const auto refuses = [&](const Tensor& head, std::initializer_list<std::string> parts) {
        write_adapter(folder, {{name, head}},
                      formats::Json::object().set("base_model_name_or_path", golden_path("bert-mlm")));
        expect_error([&] { config_named(folder / "a"); }, parts);
        expect_error([&] { load(folder / "a"); }, parts);
    };
    refuses(Tensor::zeros({std::int64_t{1} << 40, 0}),
            {"adapter_model.safetensors", "classifier.weight", "1099511627776"});
    refuses(Tensor::zeros({70'000, 1}), {"adapter_model.safetensors", "classifier.weight", "(70000, 1)"});
    refuses(Tensor::zeros({60'000, 1}), {"adapter_model.safetensors", "classifier.weight", "(60000, 1)", "expected"});
}

TEST(Adapters, EveryFieldIsReadWithItsFile) {
    const testing::TemporaryFolder folder;
    const formats::NamedTensors tensors{
        {"base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight", Tensor::zeros({2, 64})},
        {"base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight", Tensor::zeros({64, 2})}};
    const auto refuses = [&](const char* field, const formats::Json& value) {
        write_adapter(folder, tensors, formats::Json::object().set(field, value));
        expect_error([&] { apply_adapters(*load(golden_path("llama")), folder / "a"); },
                     {"a/adapter_config.json", field});
    };
    write_adapter(folder, tensors, formats::Json::object());
    EXPECT_NO_THROW(apply_adapters(*load(golden_path("llama")), folder / "a"));
    const formats::Json many = formats::Json::object().set("k_proj", "x");
    refuses("alpha_pattern", many);
    refuses("alpha_pattern", 3);
    for (const char* field : {"lora_alpha", "peft_type", "use_rslora", "lora_dropout", "modules_to_save"})
        refuses(field, formats::Json::object());
}

TEST(Adapters, FilesOutsideOfTheFolderAreNotRead) {
    const testing::TemporaryFolder folder, outside;
    const formats::Json base = formats::Json::object().set("base_model_name_or_path", golden_path("llama"));
    for (const char* name : {"adapter_config.json", "adapter_model.safetensors", "config.json"}) {
        write_adapter(outside, {}, base, "secret");
        outside.write("secret/config.json", "{}");
        write_adapter(folder, {}, base);
        std::filesystem::remove(folder / "a" / name);
        std::filesystem::create_symlink(outside / "secret" / name, folder / "a" / name);
        expect_error([&] { load(folder / "a"); }, {name, "a link out of the folder"});
        std::filesystem::remove_all(folder / "a");
    }
}

TEST(Adapters, RankStabilisedOnesCountByTheRootOfTheRank) {
    const NoGrad no_grad;
    const testing::TemporaryFolder folder;
    const auto model = load(golden_path("llama"));
    attach_adapters(*model, {.rank = 4, .alpha = 2, .targets = {"q_proj"}}, {});
    fill(*model);
    save_adapters(*model, {.rank = 4, .alpha = 2}, "base", folder / "a");
    std::string config = folder.read("a/adapter_config.json");
    config.replace(config.find("\"lora_alpha\": 2"), 15, "\"lora_alpha\": 1");
    config.replace(config.find("\"use_rslora\": false"), 19, "\"use_rslora\": true");
    folder.write("a/adapter_config.json", config);
    const auto again = load(golden_path("llama"));
    apply_adapters(*again, folder / "a");  // 1 / √4 = 2 / 4
    EXPECT_LE(relative_error(again->forward(some_ids()), model->forward(some_ids())), 1e-6);
}

// A factor that leaves nothing of the weights is a slip or an attack, and a model of NaN is no model.
TEST(Adapters, AFactorBeyondAnyUseIsRefused) {
    const testing::TemporaryFolder folder;
    const std::string layer = "base_model.model.model.layers.0.self_attn.k_proj";
    const auto adapters_of = [&](double value) {
        return formats::NamedTensors{{layer + ".lora_A.weight", Tensor::full({2, 64}, value)},
                                     {layer + ".lora_B.weight", Tensor::full({64, 2}, value)}};
    };
    const auto apply = [&](const formats::Json& fields, double value = 0.01) {
        write_adapter(folder, adapters_of(value), fields);
        auto model = load(golden_path("llama"));
        apply_adapters(*model, folder / "a");
        return model;
    };
    using formats::Json;
    for (const double alpha : {1e308, -1e308, 1e9})
        expect_error([&] { apply(Json::object().set("lora_alpha", alpha)); },
                     {"a/adapter_config.json", "lora_alpha", "for rank 2", "at most"});
    expect_error([&] { apply(Json::object().set("alpha_pattern", Json::object().set("k_proj", 1e300))); },
                 {"alpha_pattern", "k_proj"});
    merge_adapters(*apply(Json::object().set("lora_alpha", 1000)));
    const auto huge = apply(Json::object().set("lora_alpha", 1000), 1e30);
    expect_error([&] { merge_adapters(*huge); }, {"attention.key.weight", "not finite"});
}

TEST(Adapters, TheRunningReferencesNamesAreWritten) {
    const testing::TemporaryFolder folder;
    const auto model = load(golden_path("paligemma"));
    attach_adapters(*model, {.rank = 2, .alpha = 4, .targets = {"q_proj"}}, {});
    save_adapters(*model, {.rank = 2, .alpha = 4}, "base", folder / "a");
    const auto tensors = formats::read_safetensors(folder / "a" / "adapter_model.safetensors").tensors;
    EXPECT_TRUE(tensors.contains("base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight"));
    const auto again = load(golden_path("paligemma"));
    apply_adapters(*again, folder / "a");
    EXPECT_TRUE(has_adapters(*again));
}

}  // namespace
}  // namespace tessera::models
