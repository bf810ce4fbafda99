#include "tessera/models/import/gguf_tokenizer_writer.h"

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/json.h"
#include "tessera/models/import/gguf_tokenizer_parts.h"

namespace tessera::models {
namespace {

using formats::GgufTokenizer;
using formats::Json;
using tokenizers::AddedToken;
using tokenizers::SentencePieceFile;

Json rules_of(const AddedToken& token) {
    return Json::object()
        .set("content", token.content)
        .set("single_word", token.single_word)
        .set("lstrip", token.left_strip)
        .set("rstrip", token.right_strip)
        .set("normalized", token.normalized)
        .set("special", token.special);
}

// A vocabulary is too large for objects that look for each name they are given.
std::string quoted(const std::string& text) { return Json(text).dump(0); }

std::string model_of(const GgufTokenizer& read, const GgufCut& cut, const std::string& source) {
    std::string text =
        text_of(R"({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, )",
                R"("end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": )",
                cut.whole_words ? "true" : "false", ",\n    \"vocab\": {");
    for (std::size_t id = 0; id < read.tokens.size(); ++id)
        text += text_of(id > 0 ? ",\n      " : "\n      ", quoted(read.tokens[id]), ": ", id);
    text += "\n    },\n    \"merges\": [";
    for (std::size_t i = 0; i < read.merges.size(); ++i) {
        const std::size_t space = read.merges[i].find(' ', 1);
        check(space != std::string::npos, source, ": tokenizer.ggml.merges: entry ", i, ": expected two tokens, found ",
              formats::shown(read.merges[i]));
        text += text_of(i > 0 ? ",\n      [" : "\n      [", quoted(read.merges[i].substr(0, space)), ", ",
                        quoted(read.merges[i].substr(space + 1)), "]");
    }
    return text + "\n    ]\n  }";
}

Json byte_level(bool prefix) {
    return Json::object()
        .set("type", "ByteLevel")
        .set("add_prefix_space", prefix)
        .set("trim_offsets", true)
        .set("use_regex", prefix);
}

Json words_of(const GgufCut& cut) {
    Json steps = Json::array();
    for (const char* pattern : cut.patterns)
        steps.push_back(Json::object()
                            .set("type", "Split")
                            .set("pattern", Json::object().set("Regex", pattern))
                            .set("behavior", "Isolated")
                            .set("invert", false));
    steps.push_back(byte_level(false));
    return Json::object().set("type", "Sequence").set("pretokenizers", std::move(steps));
}

// What goes around a text: the beginning and the end, where the file asks for them.
Json template_of(const GgufTokenizer& read, bool begins) {
    Json single = Json::array(), pair = Json::array(), special = Json::object();
    const auto text = [](const char* name, int type) {
        return Json::object().set("Sequence", Json::object().set("id", name).set("type_id", type));
    };
    const auto add = [&](Json& items, std::int64_t id, int type) {
        const std::string& name = read.tokens[static_cast<std::size_t>(id)];
        items.push_back(Json::object().set("SpecialToken", Json::object().set("id", name).set("type_id", type)));
        special.set(name, Json::object()
                              .set("id", name)
                              .set("ids", Json::array().push_back(id))
                              .set("tokens", Json::array().push_back(name)));
    };
    const bool has_first = read.bos && read.add_bos.value_or(begins),
               has_last = read.eos && read.add_eos.value_or(false);
    if (!has_first && !has_last) return {};
    const auto one = [&](Json& items, const char* name, int type) {
        if (has_first) add(items, *read.bos, type);
        items.push_back(text(name, type));
        if (has_last) add(items, *read.eos, type);
    };
    one(single, "A", 0);
    one(pair, "A", 0);
    one(pair, "B", 1);
    return Json::object()
        .set("type", "TemplateProcessing")
        .set("single", std::move(single))
        .set("pair", std::move(pair))
        .set("special_tokens", std::move(special));
}

std::string tokenizer_json(const GgufTokenizer& read, const std::string& source) {
    const GgufCut& cut = gguf_cut(read.pre, source);
    std::string text =
        "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
    bool first = true;
    for (const AddedToken& token : gguf_added_tokens(read)) {
        Json entry = Json::object().set("id", token.id);
        const Json rules = rules_of(token);
        for (const Json::Member& rule : rules.members()) entry.set(rule.key, rule.value);
        text += text_of(first ? "\n    " : ",\n    ", entry.dump(0));
        first = false;
    }
    text += "\n  ],\n";
    const auto part = [&](const char* name, const Json& value) {
        text += text_of("  \"", name, "\": ", value.dump(0), ",\n");
    };
    part("normalizer", cut.composed ? Json::object().set("type", "NFC") : Json());
    part("pre_tokenizer", words_of(cut));
    part("post_processor", template_of(read, cut.begins));
    part("decoder", byte_level(true));
    return text_of(text, "  \"model\": ", model_of(read, cut, source), "\n}\n");
}

Json config_of(const GgufTokenizer& read, bool is_pieces) {
    Json config = Json::object(), added = Json::object();
    for (const AddedToken& token : gguf_added_tokens(read)) added.set(std::to_string(token.id), rules_of(token));
    config.set("tokenizer_class", is_pieces ? "LlamaTokenizer" : "PreTrainedTokenizerFast")
        .set("added_tokens_decoder", std::move(added));
    const auto role = [&](const char* name, const std::optional<std::int64_t>& id) {
        if (id) config.set(name, read.tokens[static_cast<std::size_t>(*id)]);
    };
    role("bos_token", read.bos);
    role("eos_token", read.eos);
    role("unk_token", read.unknown);
    role("pad_token", read.padding);
    if (is_pieces)
        config.set("add_bos_token", read.add_bos.value_or(read.model != "t5"))
            .set("add_eos_token", read.add_eos.value_or(read.model == "t5"))
            .set("legacy", true);
    if (!read.chat_template.empty()) config.set("chat_template", read.chat_template);
    return config.set("clean_up_tokenization_spaces", false);
}

// A GGUF file fills its vocabulary with pieces of that kind; SentencePiece's file has one.
SentencePieceFile with_one_unknown(SentencePieceFile file) {
    using Kind = SentencePieceFile::Kind;
    for (SentencePieceFile::Piece& piece : file.pieces)
        if (piece.kind == Kind::Unknown) piece.kind = Kind::Control;
    file.pieces[static_cast<std::size_t>(file.unknown)].kind = Kind::Unknown;
    return file;
}

}  // namespace

void write_gguf_tokenizer(const std::filesystem::path& path, const std::filesystem::path& folder) {
    const formats::Gguf gguf = formats::read_gguf(path);
    const GgufTokenizer read = checked_gguf_tokenizer(gguf);
    const bool is_pieces = read.model == "llama" || read.model == "t5";
    check(is_pieces || read.model == "gpt2", gguf.source, ": tokenizer.ggml.model: a tokenizer of the kind ",
          formats::shown(read.model), " cannot be written as files of its own");
    if (is_pieces)
        formats::write_file(folder / "tokenizer.model", tokenizers::written(with_one_unknown(gguf_pieces(gguf, read))));
    else
        formats::write_file(folder / "tokenizer.json", tokenizer_json(read, gguf.source));
    config_of(read, is_pieces).write(folder / "tokenizer_config.json");
}

}  // namespace tessera::models
