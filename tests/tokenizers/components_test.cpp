// Components of tokenizer.json one by one, by small files written here: what the reference library makes of them is
// written beside.
#include <gtest/gtest.h>

#include "tessera/core/error.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/json/tokenizer_json.h"
#include "tessera/tokenizers/stream_decoder.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

std::shared_ptr<Tokenizer> parsed(const std::string& text) {
    return parse_tokenizer_json(Json::parse(text, "tokenizer.json"), "tokenizer.json");
}

// Words as they reach the model: a word level model that knows none answers with one unknown token each, so the words
// are given to it and named by id.
std::vector<std::string> words(const std::string& pre_tokenizer, const std::string& text,
                               const std::vector<std::string>& known) {
    Json vocabulary = Json::object();
    vocabulary.set("?", 0);
    for (std::size_t i = 0; i < known.size(); ++i) vocabulary.set(known[i], static_cast<std::int64_t>(i) + 1);
    Json file = Json::object();
    file.set("pre_tokenizer", Json::parse(pre_tokenizer, "pre_tokenizer"));
    file.set("model", Json::object().set("type", "WordLevel").set("unk_token", "?").set("vocab", vocabulary));
    const auto tokenizer = parse_tokenizer_json(file, "tokenizer.json");
    std::vector<std::string> found;
    for (const std::int64_t id : tokenizer->encode(text)) found.push_back(tokenizer->token(id));
    return found;
}

using Words = std::vector<std::string>;

TEST(PreTokenizer, SplitsByEveryBehaviour) {
    const auto split = [](const std::string& behaviour, bool invert, const Words& known) {
        return words(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behaviour + R"(", "invert": )" +
                         (invert ? "true}" : "false}"),
                     "the-final--countdown", known);
    };
    const Words known = {"the", "-", "final", "countdown", "the-", "final-", "-final", "-countdown", "--"};
    EXPECT_EQ(split("Removed", false, known), (Words{"the", "final", "countdown"}));
    EXPECT_EQ(split("Isolated", false, known), (Words{"the", "-", "final", "-", "-", "countdown"}));
    EXPECT_EQ(split("MergedWithPrevious", false, known), (Words{"the-", "final-", "-", "countdown"}));
    EXPECT_EQ(split("MergedWithNext", false, known), (Words{"the", "-final", "-", "-countdown"}));
    EXPECT_EQ(split("Contiguous", false, known), (Words{"the", "-", "final", "--", "countdown"}));
    EXPECT_EQ(split("Removed", true, known), (Words{"-", "-", "-"}));
}

TEST(PreTokenizer, CutsAsItsKindSays) {
    EXPECT_EQ(words(R"({"type": "Whitespace"})", "Hey man!? \xC3\xA9_1", {"Hey", "man", "!?", "\xC3\xA9_1"}),
              (Words{"Hey", "man", "!?", "\xC3\xA9_1"}));
    EXPECT_EQ(words(R"({"type": "WhitespaceSplit"})", " Hey\xE3\x80\x80man! ", {"Hey", "man!"}),
              (Words{"Hey", "man!"}));
    EXPECT_EQ(words(R"({"type": "BertPreTokenizer"})", "Hey, $5!", {"Hey", ",", "$", "5", "!"}),
              (Words{"Hey", ",", "$", "5", "!"}));
    EXPECT_EQ(words(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a!?b", {"a", "!?", "b"}),
              (Words{"a", "!?", "b"}));
    EXPECT_EQ(words(R"({"type": "Digits", "individual_digits": true})", "a12", {"a", "1", "2"}),
              (Words{"a", "1", "2"}));
    EXPECT_EQ(words(R"({"type": "Digits", "individual_digits": false})", "a12", {"a", "12"}), (Words{"a", "12"}));
    EXPECT_EQ(words(R"({"type": "CharDelimiterSplit", "delimiter": "|"})", "a|b||c", {"a", "b", "c"}),
              (Words{"a", "b", "c"}));
    EXPECT_EQ(words(R"({"type": "FixedLength", "length": 2})",
                    "a\xC3\xA9"
                    "bcd",
                    {"a\xC3\xA9", "bc", "d"}),
              (Words{"a\xC3\xA9", "bc", "d"}));
    // Bytes as characters, then cut again: the byte level is not last.
    EXPECT_EQ(words(R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": true},
                       {"type": "Split", "pattern": {"String": "b"}, "behavior": "Isolated", "invert": false}]})",
                    "abc d",
                    {"\xC4\xA0"
                     "a",
                     "b", "c",
                     "\xC4\xA0"
                     "d"}),
              (Words{"\xC4\xA0"
                     "a",
                     "b", "c",
                     "\xC4\xA0"
                     "d"}));
}

TEST(PreTokenizer, PrependsByScheme) {
    const auto metaspace = [](const std::string& settings, const std::string& text) {
        return words(R"({"type": "Metaspace", "replacement": "_", )" + settings + "}", text,
                     {"_a", "_b", "a", "_a_b", "_", "a_b"});
    };
    EXPECT_EQ(metaspace(R"("prepend_scheme": "always", "split": true)", "a b"), (Words{"_a", "_b"}));
    EXPECT_EQ(metaspace(R"("prepend_scheme": "never", "split": true)", "a b"), (Words{"a", "_b"}));
    EXPECT_EQ(metaspace(R"("prepend_scheme": "always", "split": false)", "a b"), (Words{"_a_b"}));
    EXPECT_EQ(metaspace(R"("add_prefix_space": false)", "a b"), (Words{"a", "_b"}));
    EXPECT_EQ(metaspace(R"("add_prefix_space": true)", " a  b"), (Words{"_a", "_", "_b"}));
}

// A file around one normalizer, whose result is read off a byte-level decoder's round trip.
std::string normalized(const std::string& normalizer, const std::string& text) {
    const auto tokenizer = parsed(R"({"normalizer": )" + normalizer +
                                  R"(, "model": {"type": "BPE", "byte_fallback": false, "unk_token": null, "merges": [],
                                     "vocab": {"a": 0, "b": 1, "x": 2, " ": 3, "é": 4, "e": 5, "中": 6, "-": 7, "f": 8,
                                     "i": 9, "A": 10, "Ã": 11, "©": 12, "\u0301": 13}}, "decoder": {"type": "Fuse"}})");
    return tokenizer->decode(tokenizer->encode(text));
}

TEST(Normalizer, DoesWhatItsNameSays) {
    EXPECT_EQ(normalized(R"({"type": "NFC"})", "e\xCC\x81"), "\xC3\xA9");
    EXPECT_EQ(normalized(R"({"type": "NFKC"})", "\xEF\xAC\x81"), "fi");
    EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "AXA"), "axa");
    EXPECT_EQ(normalized(R"({"type": "StripAccents"})", "e\xCC\x81x"), "ex");
    EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", "  a  "), "a  ");
    EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "x"})", "aaba"), "xbx");
    EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "x"})", "a"), "xa");
    EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "x"})", ""), "");
    EXPECT_EQ(normalized(R"({"type": "Nmt"})",
                         "a\xE2\x80\x8B"
                         "b\x07"),
              "a b");
    EXPECT_EQ(normalized(R"({"type": "ByteLevel"})", "\xC3\xA9"), "\xC3\x83\xC2\xA9");
    EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                             "strip_accents": null, "lowercase": true})",
                         "A\tx\xE4\xB8\xAD\xC3\xA9\x07"
                         "b"),
              "a x \xE4\xB8\xAD eb");
    EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false,
                             "strip_accents": false, "lowercase": true})",
                         "A\xC3\xA9"),
              "a\xC3\xA9");
}

TEST(AddedTokens, AreFoundByTheirRules) {
    const auto tokenizer = parsed(R"({"normalizer": {"type": "Lowercase"}, "added_tokens": [
        {"id": 10, "content": "<x>", "single_word": false, "lstrip": true, "rstrip": true, "normalized": false, "special": true},
        {"id": 11, "content": "Day", "single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
        {"id": 12, "content": "<x><x>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false}],
        "model": {"type": "BPE", "unk_token": "?", "vocab": {"?": 0, "a": 1, " ": 2, "d": 3, "y": 4, "o": 5}, "merges": []}})");
    EXPECT_EQ(tokenizer->encode("a  <x> \n a"), (Ids{1, 10, 1}));    // with the spaces on both sides
    EXPECT_EQ(tokenizer->encode("<x><x><x>"), (Ids{12, 10}));        // the longest first
    EXPECT_EQ(tokenizer->encode("a dAY a"), (Ids{1, 2, 11, 2, 1}));  // looked for in lower case
    EXPECT_EQ(tokenizer->encode("aday"), (Ids{1, 3, 1, 4}));         // not within a word
    EXPECT_EQ(tokenizer->size(), 13);
    EXPECT_TRUE(tokenizer->is_special(10));
    EXPECT_FALSE(tokenizer->is_special(12));
    EXPECT_EQ(tokenizer->decode(Ids{10, 1, 99, 12}, true), "a <x><x>");  // ids past the end are passed over
    EXPECT_EQ(tokenizer->id("Day"), 11);
    EXPECT_EQ(tokenizer->id("nothing"), std::nullopt);
    EXPECT_EQ(tokenizer->token(11), "Day");
    EXPECT_THROW(tokenizer->token(9), Error);
}

// Decoded at once and piece by piece.
std::string decoded(const std::string& decoder, const Words& tokens) {
    Json vocabulary = Json::object(), file = Json::object();
    Ids ids;
    for (const std::string& token : tokens) {
        if (!vocabulary.find(token)) vocabulary.set(token, static_cast<std::int64_t>(vocabulary.members().size()));
        ids.push_back(vocabulary.find(token)->as_integer());
    }
    file.set("decoder", Json::parse(decoder, "decoder"));
    file.set("model", Json::object().set("type", "WordLevel").set("unk_token", "?").set("vocab", vocabulary));
    const auto tokenizer = parse_tokenizer_json(file, "tokenizer.json");
    const std::string whole = tokenizer->decode(ids);
    StreamDecoder stream(*tokenizer);
    std::string pieces;
    for (const std::int64_t id : ids) {
        const std::string piece = stream.add(id);
        EXPECT_TRUE(text::is_valid_utf8(piece));
        pieces += piece;
    }
    EXPECT_EQ(pieces + stream.finish(), whole);
    return whole;
}

TEST(Decoder, DoesWhatItsNameSays) {
    const std::string broken = "\xEF\xBF\xBD";
    EXPECT_EQ(
        decoded(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})", {"don", "'", "t", "##x", "!", "do not"}),
        "don ' tx! don't");
    EXPECT_EQ(decoded(R"({"type": "WordPiece", "prefix": "##", "cleanup": false})", {"a", "##b", "!"}), "ab !");
    EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})", {"_a", "_b", "c_"}),
              "a bc ");
    EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})", {"_a", "_b"}), " a b");
    EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a", "b</w>", "c</w>"}), "ab c");
    EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {"<0xE5>", "<0x8f>", "<0xab>", "a"}),
              "\xE5\x8F\xAB"
              "a");
    EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {"<0xE5>", "<0x8f>", "a", "<0x61>"}), broken + broken + "aa");
    EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {"<0x61>", "<0xE5>"}), broken + broken);
    EXPECT_EQ(decoded(R"({"type": "ByteLevel"})", {"\xC4\xA0"
                                                   "a",
                                                   "\xC3\xA5", "\xC3\xA5"}),
              " a" + broken + broken);
    EXPECT_EQ(decoded(R"({"type": "ByteLevel"})", {"a", "<\xE2\x96\x81>"}), "a<\xE2\x96\x81>");  // no byte: as it is
    EXPECT_EQ(decoded(R"({"type": "Strip", "content": "H", "start": 1, "stop": 1})", {"Hey", "HH", "oHH"}), "eyoH");
    EXPECT_EQ(decoded(R"({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true})",
                      {"<pad>", "h", "h", "e", "e", "l", "l", "<pad>", "l", "o", "o", "o", "|"}),
              "hello ");
    EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
                         {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "x"},
                         {"type": "Strip", "content": " ", "start": 1, "stop": 2}]})",
                      {" a", "b", "b", "  ", " "}),
              "ax ");
    EXPECT_EQ(decoded("null", {"a", "b"}), "a b");
}

TEST(PostProcessor, PutsTokensAround) {
    const std::string model = R"("model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}})";
    const auto processed = [&](const std::string& processor) {
        return parsed(R"({"post_processor": )" + processor + ", " + model + "}");
    };
    const auto bert = processed(R"({"type": "BertProcessing", "sep": ["[SEP]", 9], "cls": ["[CLS]", 8]})");
    EXPECT_EQ(bert->encode("a"), (Ids{8, 1, 9}));
    EXPECT_EQ(bert->encode_pair("a", "b"), (Ids{8, 1, 9, 2, 9}));
    EXPECT_EQ(bert->encode("a", false), (Ids{1}));
    EXPECT_EQ(bert->encode_at_most("a", 2), (Ids{8, 9}));
    EXPECT_THROW(bert->encode_at_most("a", 1), Error);
    const auto roberta = processed(R"({"type": "RobertaProcessing", "sep": ["</s>", 9], "cls": ["<s>", 8],
                                       "trim_offsets": true, "add_prefix_space": false})");
    EXPECT_EQ(roberta->encode_pair("a", "b"), (Ids{8, 1, 9, 9, 2, 9}));
    const auto both = processed(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
        {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "x", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
         "special_tokens": {"x": {"id": "x", "ids": [7, 6], "tokens": ["x", "y"]}}}]})");
    EXPECT_EQ(both->encode("a"), (Ids{1, 7, 6}));
    EXPECT_EQ(both->encode_pair("a", "b", false), (Ids{2, 1}));
    EXPECT_EQ(parsed("{" + model + "}")->encode_pair("a", "b"), (Ids{1, 2}));
}

TEST(Bpe, KnowsItsCorners) {
    // Unknown characters: each, fused, or gone where there is no token for them.
    const auto bpe = [](const std::string& settings) {
        return parsed(R"({"model": {"type": "BPE", "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "<0xC3>": 4, "<0xA9>": 5,
                          "##b": 6, "a##": 7, "b</w>": 8, "ab</w>": 9}, "merges": ["a b", "a b</w>"])" +
                      settings + "}}");
    };
    EXPECT_EQ(bpe(R"(, "unk_token": "?")")->encode("xyab"), (Ids{0, 0, 3}));
    EXPECT_EQ(bpe(R"(, "unk_token": "?", "fuse_unk": true)")->encode("xyabx"), (Ids{0, 3, 0}));
    EXPECT_EQ(bpe("")->encode("xaxb"), (Ids{3}));
    EXPECT_EQ(bpe(R"(, "unk_token": "<none>")")->encode("ab"), (Ids{3}));  // missed only once it is needed
    EXPECT_THROW(bpe(R"(, "unk_token": "<none>")")->encode("x"), Error);
    EXPECT_EQ(bpe(R"(, "unk_token": "?", "byte_fallback": true)")->encode("a\xC3\xA9z"), (Ids{1, 4, 5, 0}));
    EXPECT_EQ(bpe(R"(, "end_of_word_suffix": "</w>")")->encode("ab"), (Ids{9}));
    EXPECT_EQ(bpe(R"(, "dropout": 0.5)")->encode("ab"), (Ids{3}));
    EXPECT_EQ(parsed(R"({"model": {"type": "BPE", "continuing_subword_prefix": "##", "merges": ["a ##b"],
                         "vocab": {"a": 0, "##b": 1, "ab": 2, "b": 3}}})")
                  ->encode("ab"),
              (Ids{2}));
    EXPECT_EQ(parsed(R"({"model": {"type": "BPE", "ignore_merges": true, "merges": [], "vocab": {"a": 0, "aa": 1}}})")
                  ->encode("aa"),
              (Ids{1}));
}

// Long words go another way than short ones; both are the same.
TEST(Bpe, MergesLongWordsAsShortOnes) {
    const auto tokenizer = parsed(R"({"model": {"type": "BPE", "merges": ["a a", "aa aa", "a b", "aaaa ab"],
                                      "vocab": {"a": 0, "b": 1, "aa": 2, "aaaa": 3, "ab": 4, "aaaaab": 5}}})");
    std::string text;
    for (int i = 0; i < 200; ++i) text += "aaab";
    Ids expected;
    for (int i = 0; i < 200; ++i)
        for (const std::int64_t id : tokenizer->encode("aaab")) expected.push_back(id);
    EXPECT_EQ(tokenizer->encode(text), expected);
}

TEST(Tokenizer, TakesAnyBytes) {
    const auto tokenizer =
        parsed(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "ï": 1, "¿": 2, "½": 3, "Ā": 4}}})");
    EXPECT_EQ(tokenizer->encode("a\xFF"), (Ids{0, 1, 2, 3}));
    EXPECT_EQ(tokenizer->encode(std::string_view("\0a", 2)), (Ids{4, 0}));
    EXPECT_EQ(tokenizer->encode(""), Ids{});
    EXPECT_EQ(tokenizer->decode(Ids{}), "");
}

TEST(Tokenizer, ReadsLengthsWithoutUsingThem) {
    const auto tokenizer =
        parsed(R"({"truncation": {"max_length": 1, "stride": 0, "strategy": "LongestFirst", "direction": "Left"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Left", "pad_id": 3, "pad_to_multiple_of": null},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}}})");
    EXPECT_EQ(tokenizer->encode("a b"), (Ids{0, 1}));
    EXPECT_EQ(tokenizer->truncation->length, 1);
    EXPECT_EQ(tokenizer->padding->length, 8);
    EXPECT_TRUE(tokenizer->padding->on_left);
    EXPECT_EQ(tokenizer->encode_at_most("a b", 1), (Ids{1}));
}

struct Refusal {
    const char* file;
    const char* complaint;
};

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, NameFileAndField) {
    try {
        parsed(GetParam().file);
        FAIL() << GetParam().file;
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), GetParam().complaint);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Files, Refusals,
    ::testing::Values(
        Refusal{"[]", "tokenizer.json: expected an object"}, Refusal{"{}", "tokenizer.json: model: is missing"},
        Refusal{R"({"model": {"type": "Markov"}})", "tokenizer.json: model.type: no model is known as 'Markov'"},
        Refusal{R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})",
                "tokenizer.json: model.merges: entry 0: 'aa' is not in the vocabulary"},
        Refusal{R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})",
                "tokenizer.json: model.merges: entry 0: expected two tokens, found \"a\""},
        Refusal{R"({"model": {"type": "BPE", "vocab": {"a": 4194304}, "merges": []}})",
                "tokenizer.json: model.vocab: 'a': expected an id below 4194304, found 4194304"},
        Refusal{R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}})",
                "tokenizer.json: model.unk_id: 1 is outside the vocabulary of 1"},
        Refusal{
            R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Rot13"}]}, "model": {"type": "WordLevel", "vocab": {}}})",
            "tokenizer.json: normalizer.normalizers[0].type: no normalizer is known as 'Rot13'"},
        Refusal{R"({"pre_tokenizer": {"type": "UnicodeScripts"}, "model": {"type": "WordLevel", "vocab": {}}})",
                "tokenizer.json: pre_tokenizer.type: no pre-tokenizer is known as 'UnicodeScripts'"},
        Refusal{R"({"decoder": {"type": "X"}, "model": {"type": "WordLevel", "vocab": {}}})",
                "tokenizer.json: decoder.type: no decoder is known as 'X'"},
        Refusal{R"({"post_processor": {"type": "X"}, "model": {"type": "WordLevel", "vocab": {}}})",
                "tokenizer.json: post_processor.type: no post-processor is known as 'X'"},
        Refusal{
            R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!"}, "model": {"type": "WordLevel", "vocab": {}}})",
            "tokenizer.json: normalizer.precompiled_charsmap: is no base64"}));

}  // namespace
}  // namespace tessera::tokenizers
