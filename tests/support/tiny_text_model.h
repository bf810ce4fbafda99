// A small random model with one of the goldens' tokenizers, as a folder would give them.
#pragma once

#include <string>

#include "support/goldens.h"
#include "support/tiny_config.h"
#include "tessera/inference/prompt.h"
#include "tessera/models/catalog.h"

namespace tessera::testing {

// `config` without its vocab_size, which is the tokenizer's.
inline models::OpenedModel tiny_text_model(const std::string& config, const std::string& tokenizer) {
    models::OpenedModel out;
    out.tokenizer = tokenizers::open_tokenizer(golden_path("tokenizers/" + tokenizer));
    formats::Json json = formats::Json::parse(config, "config.json");
    json.set("vocab_size", out.tokenizer->size());
    out.config = {std::move(json), "config.json"};
    out.model = models::initialised(out.config, 3);
    out.path = "tiny";
    return out;
}

}  // namespace tessera::testing
