// tokenizer.json as the reference library writes it, for each kind that can be trained.
#include <optional>
#include <set>

#include "tessera/core/error.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/training/trained_tokenizer.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

Json typed(const char* type) { return Json::object().set("type", type); }

Json byte_level(bool prefix) {
    return typed("ByteLevel").set("add_prefix_space", prefix).set("trim_offsets", true).set("use_regex", true);
}

Json metaspace() {
    return typed("Metaspace").set("replacement", "▁").set("prepend_scheme", "always").set("split", true);
}

Json each_character() {
    return typed("Split")
        .set("pattern", Json::object().set("Regex", "[\\s\\S]"))
        .set("behavior", "Isolated")
        .set("invert", false);
}

Json template_item(const char* kind, const char* id, int type) {
    return Json::object().set(kind, Json::object().set("id", id).set("type_id", type));
}

Json template_token(const char* token, int id) {
    return Json::object()
        .set("id", token)
        .set("ids", Json::array().push_back(id))
        .set("tokens", Json::array().push_back(token));
}

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
Json classifier_template() {
    Json single = Json::array(), pair = Json::array();
    for (Json* list : {&single, &pair}) {
        list->push_back(template_item("SpecialToken", "[CLS]", 0));
        list->push_back(template_item("Sequence", "A", 0));
        list->push_back(template_item("SpecialToken", "[SEP]", 0));
    }
    pair.push_back(template_item("Sequence", "B", 1)).push_back(template_item("SpecialToken", "[SEP]", 1));
    return typed("TemplateProcessing")
        .set("single", std::move(single))
        .set("pair", std::move(pair))
        .set("special_tokens",
             Json::object().set("[CLS]", template_token("[CLS]", 2)).set("[SEP]", template_token("[SEP]", 3)));
}

Json added_token(const std::string& token, std::optional<std::size_t> id, bool special) {
    Json json = Json::object();
    if (id) json.set("id", *id);
    return json.set("content", token)
        .set("single_word", false)
        .set("lstrip", false)
        .set("rstrip", false)
        .set("normalized", false)
        .set("special", special);
}

TokenizerFrame plain_frame(const std::string& kind) {
    if (kind == "bpe")
        return {.special = {"<|endoftext|>"},
                .roles = {{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}},
                .pre_tokenizer = byte_level(false),
                .decoder = byte_level(true)};
    if (kind == "unigram")
        return {.special = {"<unk>", "<s>", "</s>", "<pad>"},
                .roles = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
                .pre_tokenizer = metaspace(),
                .decoder = metaspace()};
    if (kind == "wordpiece")
        return {.special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
                .roles = {{"unk_token", "[UNK]"},
                          {"sep_token", "[SEP]"},
                          {"pad_token", "[PAD]"},
                          {"cls_token", "[CLS]"},
                          {"mask_token", "[MASK]"}},
                .normalizer = typed("BertNormalizer")
                                  .set("clean_text", true)
                                  .set("handle_chinese_chars", true)
                                  .set("strip_accents", Json())
                                  .set("lowercase", true),
                .pre_tokenizer = typed("BertPreTokenizer"),
                .post_processor = classifier_template(),
                .decoder = typed("WordPiece").set("prefix", "##").set("cleanup", true)};
    if (kind == "words")
        return {.special = {"<unk>"}, .roles = {{"unk_token", "<unk>"}}, .pre_tokenizer = typed("Whitespace")};
    if (kind == "characters")
        return {.special = {"<unk>"},
                .roles = {{"unk_token", "<unk>"}},
                .pre_tokenizer = each_character(),
                .decoder = typed("Fuse")};
    fail("no tokenizer of the kind '", kind, "' can be trained; there are: bpe, unigram, wordpiece, words, characters");
}

}  // namespace

TokenizerFrame frame_of(const TokenizerTraining& training) {
    TokenizerFrame frame = plain_frame(training.kind);
    std::set<std::string> known(frame.special.begin(), frame.special.end());
    for (const auto* more : {&training.special, &training.whole})
        for (const std::string& token : *more) {
            check(!token.empty(), "training: a special token is empty");
            check(known.insert(token).second, "training: the special token ", token, " is there already");
            frame.special.push_back(token);
        }
    frame.whole = training.whole.size();
    return frame;
}

TrainedTokenizer written(const TokenizerFrame& frame, const std::string& model, std::int64_t size) {
    Json head = Json::object(), added = Json::array(), config = Json::object(), by_id = Json::object();
    for (std::size_t i = 0; i < frame.special.size(); ++i) {
        const bool special = i + frame.whole < frame.special.size();
        added.push_back(added_token(frame.special[i], i, special));
        by_id.set(std::to_string(i), added_token(frame.special[i], {}, special));
    }
    head.set("version", "1.0")
        .set("truncation", Json())
        .set("padding", Json())
        .set("added_tokens", std::move(added))
        .set("normalizer", frame.normalizer)
        .set("pre_tokenizer", frame.pre_tokenizer)
        .set("post_processor", frame.post_processor)
        .set("decoder", frame.decoder);
    std::string text = head.dump();
    text.resize(text.rfind('}'));
    while (text.back() == '\n') text.pop_back();
    text += text_of(",\n  \"model\": ", model, "\n}\n");

    config.set("added_tokens_decoder", std::move(by_id)).set("clean_up_tokenization_spaces", false);
    for (const auto& [role, token] : frame.roles) config.set(role, token);
    config.set("tokenizer_class", "PreTrainedTokenizerFast");
    return {.tokenizer_json = std::move(text), .config_json = text_of(config.dump(), "\n"), .size = size};
}

std::unique_ptr<PreTokenizer> word_splitter() {
    return read_pre_tokenizer(Component(typed("Whitespace"), "words", "pre_tokenizer"), false);
}

}  // namespace tessera::tokenizers
