// A training recipe: one JSON object that names everything a run depends on. The same recipe gives the same losses.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/dtype.h"
#include "tessera/core/random.h"
#include "tessera/formats/config.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/loss_options.h"
#include "tessera/training/optimizers/adafactor.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/schedule.h"
#include "tessera/training/optimizers/sgd.h"

namespace tessera::training {

enum class OptimizerKind : std::uint8_t { AdamW, Adafactor, Sgd, Count };

struct Recipe {
    formats::Config resolved;  // with every default: what is written beside the result

    formats::Json model;        // a checkpoint, a config.json or a preset by name, or the configuration itself
    bool from_scratch = false;  // random weights even where the model is a checkpoint
    std::string weights;        // a checkpoint to start from; empty: none
    std::string objective;
    std::string tokenizer;
    std::int64_t vocabulary = 0;  // of a tokenizer that is made
    std::string device;
    std::vector<std::string> train_data, validation_data;
    std::string separator, field;              // of documents in text files, of the text in JSON lines
    double mask = 0, noise = 0, span = 0;      // shares of tokens masked and taken out, mean length of a span
    bool whole_words = false, permute = true;  // masked whole; sentences change places
    bool beyond_context = false, layer_wise = false;
    std::int64_t length = 0;
    std::int64_t shard = 0, shards = 1;  // of all examples, each shards-th from this one on
    std::int64_t limit = 0;              // of training examples
    std::int64_t held_out = 0;           // of them, the last
    std::int64_t batch = 0, accumulate = 0;
    std::int64_t steps = 0;        // 0: not known before the data is, see epochs.h
    std::optional<double> epochs;  // in place of steps
    OptimizerKind optimizer = OptimizerKind::AdamW;
    AdamWOptions adamw;
    SgdOptions sgd;
    AdafactorOptions adafactor;
    Schedule schedule;
    double clip = 0, ema = 0, spike = 0;
    models::LossOptions loss;
    std::optional<models::AdapterSettings> lora;  // nothing: the weights themselves learn
    std::vector<std::string> freeze;
    std::vector<std::pair<std::string, double>> rates;
    DType precision = DType::F32;
    bool recompute = false, shuffle = true;
    std::uint64_t seed = 0;
    std::int64_t evaluate_every = 0, evaluate_batches = 0;
    std::int64_t sample_every = 0, sample_tokens = 0;
    std::string sample_prompt;
    std::int64_t save_every = 0, save_keep = 0;

    // The random key of a use of the seed.
    RandomKey key(std::uint64_t use) const { return RandomKey{seed, 0}.child(use); }
};

// `resolved` as resolve_recipe gives it; values that make no sense together are refused with their keys.
Recipe read_recipe(const formats::Config& resolved);

}  // namespace tessera::training
