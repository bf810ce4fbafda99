// A GGUF file of the Llama kind as the checkpoint it was converted from: the Hub's config, the Hub's tensor names, and
// the converter's changes to the weights taken back.
#pragma once

#include <filesystem>

#include "tessera/formats/checkpoint.h"
#include "tessera/formats/gguf.h"

namespace tessera::models {

// Tensors stay over the mapped file where they need no change: all but permuted queries and keys, small vectors, and
// those of a float dtype other than that in which the model will compute. The checkpoint's folder is the file, so that
// errors name it.
formats::Checkpoint gguf_checkpoint(const formats::Gguf& gguf);
formats::Checkpoint open_gguf(const std::filesystem::path& file);
// The config alone, also of a file whose tensors have types that cannot be read.
formats::Config read_gguf_config(const std::filesystem::path& file);
bool holds_tokenizer(const std::filesystem::path& gguf);

}  // namespace tessera::models
