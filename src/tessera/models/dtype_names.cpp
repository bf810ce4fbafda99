#include "tessera/models/dtype_names.h"

#include <algorithm>
#include <iterator>

#include "tessera/core/dtype.h"

namespace tessera::models {
namespace {

struct Name {
    DType dtype;
    const char* in_config;
};
constexpr Name names[] = {{DType::F32, "float32"}, {DType::BF16, "bfloat16"}, {DType::F16, "float16"}};

}  // namespace

DType weight_dtype(const std::string& wanted, const char* who) {
    for (const Name& entry : names)
        if (wanted == name(entry.dtype) || wanted == entry.in_config) return entry.dtype;
    fail(who, ": '", wanted, "' is none of f32, bf16, f16");
}

formats::Config with_dtype(const formats::Config& config, DType dtype) {
    const auto* found =
        std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.dtype == dtype; });
    check(found != std::end(names), "config.json has no name for ", dtype);
    formats::Json json = config.json();
    json.set(config.has("torch_dtype") ? "torch_dtype" : "dtype", found->in_config);
    return {std::move(json), config.source()};
}

}  // namespace tessera::models
