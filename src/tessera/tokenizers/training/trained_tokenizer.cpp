#include "tessera/tokenizers/training/trained_tokenizer.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/structures/vocabulary.h"
#include "tessera/tokenizers/training/bpe_trainer.h"
#include "tessera/tokenizers/training/unigram_trainer.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

std::string quoted(const std::string& text) { return Json(text).dump(0); }

std::string vocabulary_text(const std::vector<std::string>& tokens) {
    std::string text = "{";
    for (std::size_t i = 0; i < tokens.size(); ++i)
        text += text_of(i > 0 ? "," : "", "\n      ", quoted(tokens[i]), ": ", i);
    return text + "\n    }";
}

std::string bpe_text(const TrainedBpe& trained) {
    std::string text =
        "{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
        "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n"
        "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": ";
    text += vocabulary_text(trained.tokens) + ",\n    \"merges\": [";
    bool first = true;
    for (const auto& [left, right] : trained.merges) {
        text += text_of(first ? "" : ",", "\n      [\n        ", quoted(trained.tokens[static_cast<std::size_t>(left)]),
                        ",\n        ", quoted(trained.tokens[static_cast<std::size_t>(right)]), "\n      ]");
        first = false;
    }
    return text + (first ? "]\n  }" : "\n    ]\n  }");
}

std::string unigram_text(const std::vector<ScoredToken>& tokens) {
    std::string text = "{\n    \"type\": \"Unigram\",\n    \"unk_id\": 0,\n    \"vocab\": [";
    for (std::size_t i = 0; i < tokens.size(); ++i)
        text += text_of(i > 0 ? "," : "", "\n      [\n        ", quoted(tokens[i].first), ",\n        ",
                        Json(tokens[i].second).dump(0), "\n      ]");
    return text + "\n    ],\n    \"byte_fallback\": false\n  }";
}

std::string word_piece_text(const std::vector<std::string>& tokens) {
    return text_of(
        "{\n    \"type\": \"WordPiece\",\n    \"unk_token\": \"[UNK]\",\n    \"continuing_subword_prefix\": \"##\",\n"
        "    \"max_input_chars_per_word\": 100,\n    \"vocab\": ",
        vocabulary_text(tokens), "\n  }");
}

std::string word_level_text(const std::vector<std::string>& tokens) {
    return text_of("{\n    \"type\": \"WordLevel\",\n    \"vocab\": ", vocabulary_text(tokens),
                   ",\n    \"unk_token\": \"<unk>\"\n  }");
}

// The most frequent first.
std::vector<std::string> most_frequent(WordCounts words, const TokenizerFrame& frame, std::int64_t most,
                                       std::int64_t least_count) {
    std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    std::vector<std::string> tokens = frame.special;
    for (const WordCount& word : words) {
        if (static_cast<std::int64_t>(tokens.size()) >= most || word.count < least_count) break;
        if (std::find(frame.special.begin(), frame.special.end(), word.word) == frame.special.end())
            tokens.push_back(word.word);
    }
    return tokens;
}

// Every byte's character.
std::vector<std::string> byte_alphabet() {
    std::vector<std::string> characters;
    for (int byte = 0; byte < 256; ++byte)
        characters.push_back(to_byte_characters(std::string(1, static_cast<char>(byte))));
    return characters;
}

}  // namespace

TrainedTokenizer train_tokenizer(const std::vector<std::filesystem::path>& corpus, const TokenizerTraining& training) {
    const TokenizerFrame frame = frame_of(training);
    const auto specials = static_cast<std::int64_t>(frame.special.size());
    check(training.vocabulary > specials && training.vocabulary <= Vocabulary::most_ids,
          "training: expected a "
          "vocabulary of ",
          specials + 1, " to ", Vocabulary::most_ids, " tokens, found ", training.vocabulary);
    const auto reports = [&](const std::string& what) -> Report {
        if (!training.report) return {};
        return [&training, what](double done, double total) { training.report(what, done, total); };
    };
    std::unique_ptr<Normalizer> normalizer;
    if (!frame.normalizer.is_null())
        normalizer = read_normalizer(Component(frame.normalizer, "training", "normalizer"));
    const auto pre_tokenizer = read_pre_tokenizer(Component(frame.pre_tokenizer, "training", "pre_tokenizer"), false);
    const WordCounts words =
        count_words(corpus, {.normalizer = normalizer.get(), .pre_tokenizer = pre_tokenizer.get()}, reports("reading"));
    check(!words.empty(), corpus.front().string(), corpus.size() > 1 ? " and the other files" : "",
          ": there is no text to learn from");

    if (training.kind == "unigram") {
        const std::vector<ScoredToken> tokens = train_unigram(
            words, {.vocabulary = training.vocabulary, .special = frame.special, .report = reports("training")});
        return written(frame, unigram_text(tokens), static_cast<std::int64_t>(tokens.size()));
    }
    if (training.kind == "words" || training.kind == "characters") {
        const std::int64_t least = training.kind == "words" ? training.least_count : 1;
        const std::vector<std::string> tokens = most_frequent(words, frame, training.vocabulary, least);
        return written(frame, word_level_text(tokens), static_cast<std::int64_t>(tokens.size()));
    }
    BpeTraining bpe{.vocabulary = training.vocabulary,
                    .least_count = training.least_count,
                    .special = frame.special,
                    .report = reports("merging")};
    const bool pieces = training.kind == "wordpiece";
    if (pieces) {
        bpe.continuing_prefix = "##";
        bpe.most_characters = 1000;
    } else {
        bpe.alphabet = byte_alphabet();
    }
    const TrainedBpe trained = train_bpe(words, bpe);
    return written(frame, pieces ? word_piece_text(trained.tokens) : bpe_text(trained),
                   static_cast<std::int64_t>(trained.tokens.size()));
}

}  // namespace tessera::tokenizers
