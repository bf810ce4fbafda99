// The tokenizer inside a GGUF file: its vocabulary and what goes with it, checked and as it stands there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/formats/gguf.h"

namespace tessera::formats {

struct GgufTokenizer {
    std::string model;                     // the kind of tokenizer, by the file's own name for it
    std::string pre = {};                  // how text is cut before merging; empty: not said
    std::vector<std::string> tokens = {};  // by id
    std::vector<double> scores = {};       // one per token, or none
    std::vector<std::int64_t> types = {};  // one per token, or none: 1 normal, 2 unknown, 3 control, 4 user,
                                           // 5 unused, 6 byte
    std::vector<std::string> merges = {};  // "left right", most frequent first
    std::optional<std::int64_t> bos = {}, eos = {}, eot = {}, unknown = {}, padding = {};
    std::optional<bool> add_bos = {}, add_eos = {}, add_space_prefix = {};
    std::string chat_template = {};
};

GgufTokenizer read_gguf_tokenizer(const Gguf& gguf);

}  // namespace tessera::formats
