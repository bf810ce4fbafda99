// Trains a tokenizer of a kind on texts and writes it as tokenizer.json and tokenizer_config.json, which the reference
// library loads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/formats/json.h"
#include "tessera/tokenizers/stages/pre_tokenizer.h"
#include "tessera/tokenizers/training/word_counts.h"

namespace tessera::tokenizers {

struct TokenizerTraining {
    std::string kind = "bpe";  // bpe, unigram, wordpiece, words or characters
    std::int64_t vocabulary = 8'000;
    std::int64_t least_count = 2;           // of a pair of tokens or of a word
    std::vector<std::string> special = {};  // beside those that the kind has anyway
    std::vector<std::string> whole = {};    // tokens that are never cut, and are text all the same: <loc0000>
    // What is being done, and how much of it.
    std::function<void(const std::string& what, double done, double total)> report = {};
};

struct TrainedTokenizer {
    std::string tokenizer_json, config_json;  // the files' texts
    std::int64_t size = 0;                    // tokens
};

TrainedTokenizer train_tokenizer(const std::vector<std::filesystem::path>& corpus, const TokenizerTraining& training);

// The parts of tokenizer.json around the model, as the file has them.
struct TokenizerFrame {
    std::vector<std::string> special = {};                        // with the ids 0, 1, …
    std::size_t whole = 0;                                        // the last so many of them are text
    std::vector<std::pair<std::string, std::string>> roles = {};  // "eos_token" and its text
    formats::Json normalizer = {}, pre_tokenizer = {}, post_processor = {}, decoder = {};
};
// Throws: no such kind, or a token twice.
TokenizerFrame frame_of(const TokenizerTraining& training);
// `model` is the text of the member "model".
TrainedTokenizer written(const TokenizerFrame& frame, const std::string& model, std::int64_t size);

// Runs of word characters, and runs of others that are no space.
std::unique_ptr<PreTokenizer> word_splitter();

}  // namespace tessera::tokenizers
