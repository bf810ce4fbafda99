// A tokenizer.json made from any bytes, so that most inputs open: trees of normalizers, pre-tokenizers, processors and
// decoders, a model of each kind with its vocabulary, and added tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/formats/json.h"

class TokenizerSpec {
   public:
    using Json = tessera::formats::Json;

    explicit TokenizerSpec(std::string_view bytes) : bytes_(bytes) {}

    Json file() {
        Json file = Json::object();
        if (flag()) file.set("normalizer", normalizer(0));
        if (flag()) file.set("pre_tokenizer", pre_tokenizer(0));
        if (flag()) file.set("post_processor", processor());
        if (flag()) file.set("decoder", decoder(0));
        file.set("model", model());
        Json added = Json::array();
        for (std::size_t count = below(4), i = 0; i < count; ++i)
            added.push_back(Json::object()
                                .set("id", below(40))
                                .set("content", text())
                                .set("single_word", flag())
                                .set("lstrip", flag())
                                .set("rstrip", flag())
                                .set("normalized", flag())
                                .set("special", flag()));
        return file.set("added_tokens", std::move(added));
    }

    // What is left, as texts of the letters that the vocabularies have, in runs.
    std::string remaining_text() {
        std::string text;
        while (!bytes_.empty() && text.size() < 4000) {
            const std::string letter = this->letter();
            for (std::size_t count = flag() ? 1 : below(200), i = 0; i < count; ++i) text += letter;
        }
        return text;
    }

   private:
    std::size_t below(std::size_t limit) {
        if (bytes_.empty()) return 0;
        const auto byte = static_cast<unsigned char>(bytes_[0]);
        bytes_.remove_prefix(1);
        return byte % limit;
    }
    bool flag() { return below(2) == 1; }
    template <std::size_t Count>
    const char* one_of(const char* const (&choices)[Count]) {
        return choices[below(Count)];
    }

    std::string letter() {
        return one_of({"a",
                       "b",
                       " ",
                       "\n",
                       "1",
                       ".",
                       "_",
                       "A",
                       "\xC3\xA9",
                       "\xCC\x81",
                       "\xE4\xB8\xAD",
                       "\xE2\x96\x81",
                       "\xC4\xA0",
                       "\xEF\xB7\xBA",
                       "\xF0\x9F\x98\x81",
                       "\xEF\xAC\x81",
                       "'s",
                       "<s>",
                       "##",
                       "</w>"});
    }
    std::string text() {
        std::string text;
        for (std::size_t count = below(5), i = 0; i < count; ++i) text += letter();
        if (below(16) == 15) text = repeated(text, 1 + below(64));
        return text;
    }
    static std::string repeated(const std::string& text, std::size_t times) {
        std::string out;
        while (times-- > 0) out += text;
        return out;
    }
    std::string pattern() {
        std::string out;
        for (std::size_t count = 1 + below(6), i = 0; i < count; ++i)
            out += one_of({"a", "b", ".", "\\s", "\\w", "\\p{L}", "\\p{N}", "[^a]", "[ab\\s]", "(?=b)", "(?!\\S)",
                           "(a*)", "(?:a|ab)", "\\b", "$", "(?<=a)", "|", " ?"}),
                out += one_of({"", "", "*", "+", "?", "*?", "++", "{1,3}", "{2,}", "|"});
        return out;
    }
    Json pattern_json() {
        return flag() ? Json::object().set("String", text()) : Json::object().set("Regex", pattern());
    }
    Json typed(const char* type) { return Json::object().set("type", type); }
    template <class Part>
    Json sequence(const char* name, int depth, Part part) {
        Json list = Json::array();
        const std::size_t count = below(8) == 7 ? below(80) : below(5);
        for (std::size_t i = 0; i < count; ++i) list.push_back(part(depth + 1));
        return typed("Sequence").set(name, std::move(list));
    }

    Json normalizer(int depth) {
        const char* type = one_of({"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Nmt",
                                   "ByteLevel", "Prepend", "Replace", "BertNormalizer", "Sequence", "Replace"});
        if (std::string_view(type) == "Sequence" && depth < 3)
            return sequence("normalizers", depth, [&](int d) { return normalizer(d); });
        return typed(std::string_view(type) == "Sequence" ? "NFC" : type)
            .set("prepend", text())
            .set("pattern", pattern_json())
            .set("content", text())
            .set("strip_left", flag())
            .set("strip_right", flag())
            .set("lowercase", flag());
    }
    Json pre_tokenizer(int depth) {
        const char* type =
            one_of({"ByteLevel", "Metaspace", "Split", "Whitespace", "WhitespaceSplit", "BertPreTokenizer",
                    "Punctuation", "Digits", "CharDelimiterSplit", "FixedLength", "Sequence", "Split"});
        if (std::string_view(type) == "Sequence" && depth < 3)
            return sequence("pretokenizers", depth, [&](int d) { return pre_tokenizer(d); });
        return typed(std::string_view(type) == "Sequence" ? "ByteLevel" : type)
            .set("add_prefix_space", flag())
            .set("use_regex", flag())
            .set("replacement", flag() ? "_" : "\xE2\x96\x81")
            .set("prepend_scheme", one_of({"first", "never", "always"}))
            .set("split", flag())
            .set("pattern", pattern_json())
            .set("behavior", one_of({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}))
            .set("invert", flag())
            .set("individual_digits", flag())
            .set("delimiter", "a")
            .set("length", 1 + below(5));
    }
    Json processor() {
        Json single = Json::array(), ids = Json::array();
        for (std::size_t count = below(4), i = 0; i < count; ++i)
            single.push_back(flag() ? Json::object().set("Sequence", Json::object().set("id", "A"))
                                    : Json::object().set("SpecialToken", Json::object().set("id", "s")));
        for (std::size_t count = below(4), i = 0; i < count; ++i) ids.push_back(below(40));
        Json pair = single;
        pair.push_back(Json::object().set("Sequence", Json::object().set("id", "B")));
        return typed("TemplateProcessing")
            .set("single", std::move(single))
            .set("pair", std::move(pair))
            .set("special_tokens", Json::object().set("s", Json::object().set("id", "s").set("ids", std::move(ids))));
    }
    Json decoder(int depth) {
        const char* type = one_of({"ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace", "WordPiece",
                                   "BPEDecoder", "CTC", "Sequence", "Replace"});
        if (std::string_view(type) == "Sequence" && depth < 3)
            return sequence("decoders", depth, [&](int d) { return decoder(d); });
        return typed(std::string_view(type) == "Sequence" ? "Fuse" : type)
            .set("content", std::string_view(type) == "Strip" ? std::string("a") : text())
            .set("start", below(4))
            .set("stop", below(4))
            .set("pattern", pattern_json())
            .set("replacement", "_")
            .set("prefix", text())
            .set("cleanup", flag())
            .set("suffix", text())
            .set("pad_token", text())
            .set("word_delimiter_token", text());
    }

    Json model() {
        Json vocabulary = Json::object(), list = Json::array(), merges = Json::array();
        std::int64_t next = 0;
        const auto add = [&](const std::string& token) {
            if (vocabulary.find(token)) return;
            vocabulary.set(token, next++);
            list.push_back(Json::array().push_back(token).push_back(-1.0 - static_cast<double>(below(8))));
        };
        for (const char* letter : {"?", "a", "b", " ", "_", "\xC4\xA0", "\xE2\x96\x81", "##a", "##b"}) add(letter);
        for (std::size_t count = below(12), i = 0; i < count; ++i) {
            const std::string left = letter(), right = flag() ? text() : letter();
            for (const std::string& token : {left, right, left + right}) add(token);
            merges.push_back(Json::array().push_back(left).push_back(right));
        }
        if (flag())
            for (int byte = 0; byte < 256; ++byte) {
                constexpr const char* digits = "0123456789ABCDEF";
                add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
            }
        Json model = typed(one_of({"BPE", "Unigram", "WordPiece", "WordLevel"}))
                         .set("unk_token", "?")
                         .set("unk_id", 0)
                         .set("byte_fallback", flag())
                         .set("fuse_unk", flag())
                         .set("ignore_merges", flag())
                         .set("max_input_chars_per_word", 1 + below(250));
        if (below(8) == 7) model.set("continuing_subword_prefix", "##").set("end_of_word_suffix", "</w>");
        const bool unigram = model.find("type")->as_string() == "Unigram";
        return model.set("vocab", unigram ? std::move(list) : std::move(vocabulary)).set("merges", std::move(merges));
    }

    std::string_view bytes_;
};
