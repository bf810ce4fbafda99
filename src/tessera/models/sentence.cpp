#include "tessera/models/sentence.h"

#include <map>
#include <string>

#include "tessera/formats/atomic_file.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/formats/find_file.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/ops/where.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;
using formats::Config;

// (B, T, 1): 1 in the states' dtype where a token stands.
Tensor marks_of(const Tensor& hidden, const Tensor& attention_mask) {
    const Shape tokens{hidden.size(0), hidden.size(1)};
    check(!attention_mask.defined() || attention_mask.shape() == tokens, "attention_mask: expected ", tokens,
          ", found ", attention_mask.shape());
    const Tensor marks = attention_mask.defined() ? attention_mask.to(DType::Bool).to(hidden.dtype())
                                                  : Tensor::full(tokens, 1, hidden.dtype(), hidden.device());
    return ops::reshape(marks, {hidden.size(0), hidden.size(1), 1});
}

Tensor mean_over(const Tensor& hidden, const Tensor& marks) {
    // A row without tokens is divided by something, not by 0.
    const Tensor counts = ops::shift(ops::sum(marks, {1}), 1e-9);
    return ops::div(ops::sum(ops::mul(hidden, marks), {1}), counts);
}

Tensor max_over(const Tensor& hidden, const Tensor& marks) {
    const Tensor is_token = marks.to(DType::Bool), has_tokens = ops::sum(marks, {1}).to(DType::Bool);
    const Tensor lowest = Tensor::scalar(-1e9, hidden.dtype(), hidden.device());
    const Tensor zero = Tensor::scalar(0, hidden.dtype(), hidden.device());
    return ops::where(has_tokens, ops::max(ops::where(is_token, hidden, lowest), 1), zero);
}

PoolingMode read_mode(const Config& config) {
    static const std::map<std::string, PoolingMode> known{
        {"cls", PoolingMode::First}, {"mean", PoolingMode::Mean}, {"max", PoolingMode::Max}};
    if (config.has("pooling_mode")) {
        const std::string name = config.text("pooling_mode");
        if (!known.contains(name)) config.reject("pooling_mode", text_of("pooling '", name, "' is not known"));
        return known.at(name);
    }
    static const std::map<std::string, PoolingMode> flags{{"pooling_mode_cls_token", PoolingMode::First},
                                                          {"pooling_mode_mean_tokens", PoolingMode::Mean},
                                                          {"pooling_mode_max_tokens", PoolingMode::Max}};
    PoolingMode mode = PoolingMode::Mean;
    std::string chosen;
    for (const auto& [field, value] : config.json().members()) {
        if (!field.starts_with("pooling_mode_") || !config.boolean(field)) continue;
        if (!flags.contains(field)) config.reject(field, "this pooling is not known");
        if (!chosen.empty())
            config.reject(field, text_of("only one pooling is known at a time, and ", chosen, " is on"));
        chosen = field;
        mode = flags.at(field);
    }
    return mode;
}

// Names within the folder.
std::vector<fs::path> pooling_files(const fs::path& folder) {
    std::vector<fs::path> names = {"modules.json", "sentence_bert_config.json"}, found;
    for (const fs::path& inner : formats::folders_in(folder))
        if (inner.filename().string().ends_with("_Pooling")) names.push_back(inner.filename() / "config.json");
    for (const fs::path& name : names)
        if (!formats::find_file(folder, name).empty()) found.push_back(name);
    return found;
}

bool is_plain_name(const std::string& name) {
    return !name.empty() && name.find('/') == std::string::npos && name.find('\\') == std::string::npos &&
           name.find("..") == std::string::npos;
}

}  // namespace

Tensor sentence_embedding(const Tensor& hidden, const Tensor& attention_mask, const Pooling& pooling) {
    check(hidden.rank() == 3 && hidden.size(1) > 0, "sentence embedding: expected hidden states (B, T, W), found ",
          hidden.shape());
    const Tensor marks = marks_of(hidden, attention_mask);
    Tensor x;
    switch (pooling.mode) {
        case PoolingMode::Mean: x = mean_over(hidden, marks); break;
        case PoolingMode::First: x = ops::mul(ops::select(hidden, 1, 0), ops::select(marks, 1, 0)); break;
        case PoolingMode::Max: x = max_over(hidden, marks); break;
    }
    if (!pooling.normalise) return x;
    const Tensor squares = ops::sum(ops::mul(x, x), {1}, true);
    return ops::mul(x, ops::rsqrt(ops::shift(squares, 1e-24)));
}

Pooling read_pooling(const std::filesystem::path& folder) {
    Pooling pooling;
    std::string pooling_folder = "1_Pooling";
    const std::filesystem::path modules = formats::find_file(folder, "modules.json");
    if (!modules.empty()) {
        const formats::Json list = formats::Json::read(modules);
        check(list.is_array(), modules.string(), ": expected a list of modules");
        pooling.normalise = false;
        for (std::size_t i = 0; i < list.items().size(); ++i) {
            check(list.items()[i].is_object(), modules.string(), ": module ", i, ": expected an object");
            const Config module(list.items()[i], modules.string(), std::to_string(i));
            const std::string type = module.text("type"), name = type.substr(type.rfind('.') + 1);
            if (name == "Pooling") {
                const std::string path = module.text("path", "1_Pooling");
                if (!is_plain_name(path)) module.reject("path", text_of("'", path, "' is no folder right below"));
                pooling_folder = path;
            } else if (name == "Normalize") {
                pooling.normalise = true;
            } else if (name != "Transformer") {
                module.reject("type", text_of("module '", type, "' is not known"));
            }
        }
    }
    const std::filesystem::path config = formats::find_file(folder, pooling_folder + "/config.json");
    if (!config.empty()) pooling.mode = read_mode(formats::read_config(config));
    const std::filesystem::path lengths = formats::find_file(folder, "sentence_bert_config.json");
    if (!lengths.empty()) pooling.longest_text = formats::read_config(lengths).positive("max_seq_length", 0);
    return pooling;
}

bool says_pooling(const fs::path& folder) { return !pooling_files(folder).empty(); }

void copy_pooling(const fs::path& folder, const fs::path& to) {
    for (const fs::path& name : pooling_files(folder)) {
        const fs::path file = formats::find_file(folder, name);
        std::error_code error;
        if (fs::equivalent(file, to / name, error)) continue;
        fs::create_directories((to / name).parent_path());
        formats::copy_file(file, to / name);
    }
}

}  // namespace tessera::models
