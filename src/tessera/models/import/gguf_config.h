// The config.json that a model in a GGUF file would have on the Hub, from the file's metadata.
#pragma once

#include "tessera/formats/gguf.h"
#include "tessera/formats/json.h"

namespace tessera::models {

struct GgufHeads {
    std::int64_t heads = 0, kv_heads = 0;
};

GgufHeads gguf_heads(const formats::Gguf& gguf);
formats::Json gguf_config(const formats::Gguf& gguf);             // throws where the architecture is not known
formats::Json gguf_generation_config(const formats::Gguf& gguf);  // ids of special tokens; an object, perhaps empty

}  // namespace tessera::models
