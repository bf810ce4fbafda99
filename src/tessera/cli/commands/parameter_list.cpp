#include "tessera/cli/commands/parameter_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/gguf.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/models/parameter_names.h"
#include "tessera/models/stored_weights.h"

namespace tessera::cli {
namespace {

using formats::Json;

struct Listed {
    std::string name;
    Shape shape;
    std::string dtype = {};  // empty: nothing says it
};

// As config.json names what its weights are stored in.
std::string stated_dtype(const models::Config& config) {
    const std::string stated = config.text("dtype", config.text("torch_dtype", ""));
    for (const auto& [theirs, ours] : {std::pair("bfloat16", "bf16"), {"float16", "f16"}, {"float32", "f32"}})
        if (stated == theirs) return ours;
    return {};
}

// A file with types that cannot be read opens as no checkpoint: its tensors as the file names them.
std::vector<Listed> listed_as_stored(const formats::Gguf& gguf) {
    std::vector<Listed> list;
    for (const auto& [tensor_name, tensor] : gguf.tensors) {
        const auto unreadable = gguf.unreadable.find(tensor_name);
        list.push_back(
            {tensor_name, tensor.shape(),
             unreadable != gguf.unreadable.end() ? unreadable->second.type : std::string(name(tensor.dtype()))});
    }
    return list;
}

std::vector<Listed> listed(const std::string& source) {
    if (std::filesystem::path(source).extension() == ".gguf" && std::filesystem::exists(source))
        if (const formats::Gguf gguf = formats::read_gguf(source); !gguf.unreadable.empty())
            return listed_as_stored(gguf);
    const models::Config config = models::config_named(source);
    const std::unique_ptr<models::Model> model = models::build(config);
    std::vector<Listed> list;
    for (const models::StoredParameter& parameter : models::stored_parameters(*model))
        list.push_back({parameter.name, parameter.shape, stated_dtype(config)});
    const bool has_file = std::filesystem::exists(source) && models::has_weights(source);
    if (!has_file || models::is_adapter_folder(source)) return list;
    const formats::Checkpoint checkpoint = models::open(source);
    formats::TensorMap tensors;
    for (const auto& [name, tensor] : checkpoint.tensors)
        tensors.emplace(models::canonical_name(model->weights, name), tensor);
    const std::string& prefix = model->weights.optional_prefix;
    for (Listed& one : list) {
        auto found = tensors.find(one.name);
        if (found == tensors.end() && one.name.starts_with(prefix))
            found = tensors.find(one.name.substr(prefix.size()));
        if (found == tensors.end()) continue;
        one.shape = found->second.shape();
        one.dtype = name(found->second.dtype());
    }
    return list;
}

std::string in_brackets(const Shape& shape) {
    std::string text;
    for (const std::int64_t size : shape) text += text_of(text.empty() ? "" : ", ", size);
    return text_of("[", text, "]");
}

}  // namespace

int list_parameters(const std::string& source, bool json) {
    const std::vector<Listed> list = listed(source);
    if (json) {
        Json all = Json::array();
        for (const Listed& one : list) {
            Json shape = Json::array();
            for (const std::int64_t size : one.shape) shape.push_back(size);
            Json entry = Json::object().set("name", one.name).set("shape", std::move(shape));
            if (!one.dtype.empty()) entry.set("dtype", one.dtype);
            all.push_back(std::move(entry));
        }
        fmt::print("{}\n",
                   json_for_terminal(Json::object().set("source", source).set("tensors", std::move(all)).dump()));
        return 0;
    }
    std::size_t widest = 0;
    for (const Listed& one : list) widest = std::max(widest, one.name.size());
    std::int64_t elements = 0;
    for (const Listed& one : list) {
        elements += one.shape.elements();
        std::printf("%-*s  %-20s %s\n", static_cast<int>(widest), one_line(one.name).c_str(),
                    in_brackets(one.shape).c_str(), one.dtype.c_str());
    }
    fmt::print("{}, {}\n", counted(list.size(), "tensor"), counted(elements, "parameter"));
    return 0;
}

}  // namespace tessera::cli
