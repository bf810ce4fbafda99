// What files may ask for and what texts may cost. Where an algorithm must be linear, the input is of a size that would
// take minutes if it were not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <regex>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/json/tokenizer_json.h"
#include "tessera/tokenizers/limits.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece.h"
#include "tessera/tokenizers/structures/token_matcher.h"
#include "tessera/tokenizers/text_work.h"
#include "tessera/tokenizers/tiktoken_file.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

Json to_json(const std::string& text) { return Json::parse(text, "test"); }

std::string run_of_a(std::size_t count) { return std::string(count, 'a'); }

Json list_of(const Json& item, std::size_t count) {
    Json list = Json::array();
    for (std::size_t i = 0; i < count; ++i) list.push_back(item);
    return list;
}

Json sequence_of(const char* field, Json list) {
    return Json::object().set("type", "Sequence").set(field, std::move(list));
}

const char* const few_letters =
    R"({"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "x": 3, "aa": 4}, "merges": ["a a"], "unk_token": "x"})";

std::shared_ptr<Tokenizer> file_with(const char* field, Json component) {
    Json file = Json::object().set("model", to_json(few_letters));
    file.set(field, std::move(component));
    return parse_tokenizer_json(file, "tokenizer.json");
}

TEST(Stages, AreLimitedInNumberAndDepth) {
    const struct {
        const char *component, *list, *item;
    } kinds[] = {{"normalizer", "normalizers", R"({"type": "Lowercase"})"},
                 {"pre_tokenizer", "pretokenizers", R"({"type": "Whitespace"})"},
                 {"post_processor", "processors", R"({"type": "ByteLevel"})"},
                 {"decoder", "decoders", R"({"type": "Fuse"})"}};
    for (const auto& kind : kinds) {
        const Json item = to_json(kind.item);
        testing::expect_error([&] { file_with(kind.component, sequence_of(kind.list, list_of(item, 8000))); },
                              {"tokenizer.json: ", kind.component, "256 stages"});
        const auto most = file_with(kind.component, sequence_of(kind.list, list_of(item, 255)));
        EXPECT_FALSE(most->decode(most->encode("a b")).empty());
        Json deep = item;
        for (int i = 0; i < 9; ++i) deep = sequence_of(kind.list, list_of(deep, 1));
        testing::expect_error([&] { file_with(kind.component, deep); }, {kind.component, "deeper than 8"});
    }
}

TEST(Growth, IsInProportionToTheText) {
    const auto refuses = [](const char* field, const char* list, const std::string& items, const std::string& text) {
        const auto tokenizer = file_with(field, sequence_of(list, to_json(items)));
        testing::expect_error([&] { tokenizer->decode(tokenizer->encode(text)); }, {"tokenizer.json: ", field});
    };
    const auto times = [](const char* item, int count) {
        std::string list;
        for (int i = 0; i < count; ++i) list += std::string(i ? "," : "") + item;
        return "[" + list + "]";
    };
    for (const char* pattern : {R"({"String": "a"})", R"({"Regex": "a"})"}) {
        const std::string doubles =
            times((R"({"type": "Replace", "pattern": )" + std::string(pattern) + R"(, "content": "aa"})").c_str(), 60);
        refuses("normalizer", "normalizers", doubles, "a");
        refuses("decoder", "decoders", doubles, "a");
        refuses("decoder", "decoders", doubles, run_of_a(1000));
    }
    refuses("normalizer", "normalizers", times(R"({"type": "ByteLevel"})", 60), "\xC3\xA9");
    refuses("pre_tokenizer", "pretokenizers", times(R"({"type": "ByteLevel"})", 60), "\xC3\xA9");
    refuses("pre_tokenizer", "pretokenizers",
            times(R"({"type": "FixedLength", "length": 1},
                     {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": false},
                     {"type": "FixedLength", "length": 1},
                     {"type": "Metaspace", "replacement": "-", "prepend_scheme": "always", "split": false})",
                  30),
            "ab");
    refuses("pre_tokenizer", "pretokenizers",
            times(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": false})", 200),
            run_of_a(1 << 20));
    refuses("normalizer", "normalizers", R"([{"type": "Prepend", "prepend": ")" + run_of_a(2 << 20) + R"("}])", "a");
    // An added token is normalized when the file is read.
    Json file = Json::object().set("model", to_json(few_letters));
    file.set("normalizer", sequence_of("normalizers", to_json(times(R"({"type": "ByteLevel"})", 60))));
    file.set("added_tokens", to_json(R"([{"id": 9, "content": "é", "normalized": true}])"));
    testing::expect_error([&] { parse_tokenizer_json(file, "tokenizer.json"); }, {"tokenizer.json: normalizer"});
}

// A text of so many bytes takes well below a second or two, whatever the stages are.
TEST(Stages, ArePaidForByEveryPieceThatComesThrough) {
    const auto repeated = [](const char* item, std::size_t bytes) {
        std::string text;
        while (text.size() < bytes) text += item;
        return text;
    };
    const struct {
        const char *stage, *text;
    } cases[] = {{R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a|b){0,3}"}})", "ab"},
                 {R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "a"}})", "ab"},
                 {R"({"type": "Split", "behavior": "Isolated", "pattern": {"String": "a"}})", "ab"},
                 {R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "\\w+"}})", "a "},
                 {R"({"type": "Whitespace"})", "ab ba a "},
                 {R"({"type": "BertPreTokenizer"})", "a.b-"},
                 {R"({"type": "Punctuation"})", "a.b-"},
                 {R"({"type": "FixedLength", "length": 1})", "ab"}};
    for (const auto& [stage, text] : cases) {
        const auto tokenizer = file_with("pre_tokenizer", sequence_of("pretokenizers", list_of(to_json(stage), 255)));
        testing::expect_error([&] { tokenizer->encode(repeated(text, 300'000)); },
                              {"tokenizer.json: pre_tokenizer", "takes too long"});
        EXPECT_FALSE(tokenizer->encode(repeated(text, 100)).empty()) << stage;
    }
}

TEST(Stages, ThatComposeCharactersAreDear) {
    std::string text;
    while (text.size() < 300'000) text += "\xC3\xA9\xC3\x9C";
    const auto tokenizer =
        file_with("normalizer", sequence_of("normalizers", list_of(to_json(R"({"type": "NFKC"})"), 255)));
    testing::expect_error([&] { tokenizer->encode(text); }, {"tokenizer.json: normalizer", "takes too long"});
}

// How many steps the tokenizers of real kinds take for each byte, beside how many are allowed.
TEST(Stages, OfRealTokenizersTakeAFractionOfWhatIsAllowed) {
    std::string text;
    while (text.size() < 300'000)
        text +=
            "The quick brown fox, 0123: \xC3\x9Cn\xC3\xAF"
            "c\xC3\xB6"
            "d\xC3\xA9 \xE4\xB8\xAD\xE4\xB8\xAD?\n  jumps\tover! don't >>> x=f(a[i]);\n\n";
    for (const auto& folder : std::filesystem::directory_iterator(testing::golden_path("tokenizers"))) {
        const auto tokenizer = open_tokenizer(folder.path());
        TextWork work(text.size());
        const WorkScope scope(work);
        const std::uint64_t all = work.left();
        tokenizer->encode(text);
        EXPECT_LE(20 * (all - work.left()), limits::steps_per_byte * text.size()) << folder.path();
    }
}

TEST(Template, IsLimitedInItemsTextsAndIds) {
    const auto refuses = [](const std::string& single, int ids, const char* what) {
        std::string list = "1";
        for (int i = 1; i < ids; ++i) list += ",1";
        const Json around = to_json(R"({"type": "TemplateProcessing", "single": [)" + single +
                                    R"(], "pair": [], "special_tokens": {"s": {"id": "s", "ids": [)" + list + "]}}}");
        testing::expect_error([&] { file_with("post_processor", around); }, {"tokenizer.json: post_processor.", what});
    };
    const auto times = [](const std::string& item, int count) {
        std::string list = item;
        for (int i = 1; i < count; ++i) list += "," + item;
        return list;
    };
    const std::string special = R"({"SpecialToken": {"id": "s", "type_id": 0}})";
    const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})";
    refuses(times(special, 10000), 10000, "single");
    refuses(times(special, 200), 100, "ids");
    refuses(special, 10000, "ids");
    refuses(times(text, 9), 1, "texts");
}

using FoundPlaces = std::vector<std::pair<std::size_t, std::size_t>>;

FoundPlaces found_by(const Splitter& splitter, const std::string& text) {
    FoundPlaces found;
    splitter.find(text, [&](std::size_t begin, std::size_t end) { found.emplace_back(begin, end); });
    return found;
}

TEST(RegexSplitter, SeesMoreOfTheTextWhereItHasTo) {
    const char* patterns[] = {"a*b|a",          "a+(?=b)|b",    "(?:a|b)+c", "a+?b",
                              "(a+)b\\1",       "[^c]+",        "c*a(?!a)",  "a(?=a*c)",
                              "(?=b*c)b",       "b?a{3,}|c",    "a{40,}|b",  "\\ba+\\b",
                              "a*(?=b)b|c+",    "(?:ab)*c|a|b", "c[ab]*c",   "\\s+(?!\\S)|\\s+|[ab]+",
                              "(a|ab)(c|bcd)*", "(?:a+b+)+c|a", "a$|b"};
    std::mt19937 random(1);
    for (const char* pattern : patterns) {
        const auto ours = regex_splitter(pattern, "pattern");
        const std::regex theirs(pattern, std::regex::ECMAScript | std::regex::multiline);
        for (int round = 0; round < 60; ++round) {
            std::string text;
            while (text.size() < 300) {
                const std::size_t run = random() % 3 == 0 ? random() % 150 : 1 + random() % 3;
                text += std::string(run, "abc \n"[random() % (round % 2 ? 5 : 3)]);
            }
            FoundPlaces expected;
            for (std::sregex_iterator match(text.begin(), text.end(), theirs), end; match != end; ++match)
                if (match->length() > 0) expected.emplace_back(match->position(), match->position() + match->length());
            ASSERT_EQ(found_by(*ours, text), expected) << pattern << "\n" << text;
        }
    }
}

TEST(RegexSplitter, ChargesEveryAttemptToTheText) {
    const std::string words = [] {
        std::string text;
        for (int i = 0; i < 20000; ++i) text += "ab";
        return text;
    }();
    for (const char* pattern : {"\\w*\\w*\\w*!|\\w", "\\w*\\w*!|\\w", "(?:a|aa|b)+!|a"}) {
        const auto splitter = regex_splitter(pattern, "tokenizer.json: pre_tokenizer.pattern");
        TextWork work(words.size());
        const WorkScope scope(work);
        testing::expect_error([&] { found_by(*splitter, words); },
                              {"tokenizer.json: pre_tokenizer.pattern: takes too long"});
    }
    for (const char* pattern : {"a*b|a", "a*b", ".*b|.", "(?=.*b)a|a", "a(?=a*b)|a", "a++b|a", "(?:(?=(a*))\\1b)|a"}) {
        const auto splitter = regex_splitter(pattern, "pattern");
        testing::expect_error([&] { found_by(*splitter, run_of_a(300'000)); }, {"pattern: takes too long"});
    }
    // What is found in a short text is found in a long one as well.
    const auto plain = regex_splitter("[a-z]+|[^a-z]", "pattern");
    EXPECT_EQ(found_by(*plain, run_of_a(5'000'000)).size(), 1u);
}

TEST(RegexSplitter, KnowsNoCallsAndNoVerbs) {
    for (const char* pattern :
         {"(a(?1)?b)", "(?R)", "(?<n>a)(?&n)", "(?P<n>a)(?P>n)", "(a)\\g<1>", "(*NO_JIT)a", "a(*SKIP)b", "(a)(?-1)"})
        testing::expect_error([&] { regex_splitter(pattern, "tokenizer.json: normalizer.pattern"); },
                              {"tokenizer.json: normalizer.pattern: "});
    EXPECT_EQ(found_by(*regex_splitter("[(*]+(?-i)", "pattern"), "a(*").size(), 1u);
    testing::expect_error([&] { regex_splitter(run_of_a(20000), "pattern"); }, {"pattern: ", "20000"});
}

// The longest of the texts at each place, tried one by one.
std::vector<std::size_t> longest_by_trying(const std::vector<std::string>& tokens, const std::string& text) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::size_t longest = 0;
        for (const std::string& token : tokens)
            if (text.compare(at, token.size(), token) == 0) longest = std::max(longest, token.size());
        found.push_back(longest);
    }
    return found;
}

TEST(LongestTokens, AreTheSameByTreeAndByAutomaton) {
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> tokens;
        for (int i = 0; i < 12; ++i) {
            std::string token;
            for (std::size_t length = 1 + random() % 6; token.size() < length;) token += "ab"[random() % 2];
            tokens.push_back(token);
        }
        // With a token that begins at every one of many places and ends nowhere, the automaton takes over.
        const std::string run = run_of_a(2000);
        std::string text = round % 2 == 0 ? std::string() : run;
        for (int i = 0; i < 60; ++i) text += "abc"[random() % 3];
        if (round % 2 == 1) tokens.push_back(run + "c");
        TokenMatcher matcher;
        for (std::uint32_t i = 0; i < tokens.size(); ++i) matcher.add(tokens[i], i);
        LongestTokens longest(matcher, text);
        const std::vector<std::size_t> expected = longest_by_trying(tokens, text);
        for (std::size_t at = 0; at < text.size(); ++at) {
            const Trie::Match match = longest.at(at);
            ASSERT_EQ(match.length, expected[at]) << text.substr(at, 20);
            ASSERT_TRUE(match.length == 0 || tokens[match.value].size() == match.length);
        }
    }
}

// A file with tokens that begin everywhere in `text` and stand nowhere encodes it as the file without them does.
void expect_same(const Json& plain, const Json& with_long, const std::string& text) {
    const auto quick = parse_tokenizer_json(plain, "plain"), slow = parse_tokenizer_json(with_long, "with long");
    EXPECT_EQ(quick->encode(text), slow->encode(text));
}

std::string runs_of_a(std::size_t bytes) {
    std::mt19937 random(3);
    std::string text;
    while (text.size() < bytes) text += run_of_a(random() % 50000) + "b";
    return text;
}

TEST(Models, MatchLongTokensInLinearTime) {
    const std::string text = runs_of_a(600'000), never = run_of_a(500'000) + "c";
    const auto unigram = [](const std::string& more) {
        return to_json(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["aa", -1.5],
                          ["aaaa", -3.5], ["ab", -1.25])" +
                       more + "]}}");
    };
    expect_same(unigram(""), unigram(R"(, [")" + never + R"(", -1])"), text);
    const auto word_piece = [](const std::string& more) {
        return to_json(R"({"model": {"type": "WordPiece", "unk_token": "?", "max_input_chars_per_word": 10000000,
                          "vocab": {"?": 0, "a": 1, "##a": 2, "##aaaa": 3, "##b": 4, "##ab": 5)" +
                       more + "}}}");
    };
    expect_same(word_piece(""), word_piece(R"(, "##)" + never + R"(": 6)"), text);
    const auto added = [](const std::string& more) {
        return to_json(R"({"added_tokens": [{"id": 9, "content": "aaab"})" + more + R"(], "model": )" + few_letters +
                       "}");
    };
    expect_same(added(""), added(R"(, {"id": 10, "content": ")" + never + R"("})"), text);
    for (const SentencePieceFile::Algorithm algorithm :
         {SentencePieceFile::Algorithm::Unigram, SentencePieceFile::Algorithm::Bpe}) {
        using Kind = SentencePieceFile::Kind;
        SentencePieceFile plain{.pieces = {{"?", 0, Kind::Unknown},
                                           {"a", -1},
                                           {"b", -1},
                                           {"aa", -1.5},
                                           {"aaa", 0, Kind::UserDefined},
                                           {"\xE2\x96\x81", -2}},
                                .algorithm = algorithm,
                                .unknown = 0};
        SentencePieceFile with_long = plain;
        with_long.pieces.push_back({never, 0, Kind::UserDefined});
        EXPECT_EQ(make_sentencepiece(plain, {}, "plain")->encode(text),
                  make_sentencepiece(with_long, {}, "with long")->encode(text));
    }
    // A literal, too.
    const auto literal =
        file_with("pre_tokenizer",
                  to_json(R"({"type": "Split", "behavior": "Isolated", "pattern": {"String": ")" + never + R"("}})"));
    EXPECT_EQ(literal->encode(text), file_with("decoder", to_json(R"({"type": "Fuse"})"))->encode(text));
}

// The path through a whole text, which the model settles stretch by stretch.
TEST(Models, SettleLongTextsToTheSamePath) {
    const std::pair<std::string, float> tokens[] = {{"?", 0},      {"a", -1.1f},   {"b", -2.3f},
                                                    {"ab", -3.f},  {"ba", -3.3f},  {"aba", -4.7f},
                                                    {"bb", -3.9f}, {"aaa", -3.2f}, {"abab", -5.1f}};
    std::mt19937 random(4);
    std::string text;
    while (text.size() < 400'000) text += "abc"[random() % 64 == 0 ? 2 : random() % 2];
    SentencePieceFile file{.unknown = 0};
    for (const auto& [token, score] : tokens) file.pieces.push_back({token, score});
    file.pieces[0].kind = SentencePieceFile::Kind::Unknown;
    file.add_dummy_prefix = file.remove_extra_spaces = false;

    std::vector<float> best(text.size() + 1, -INFINITY);
    std::vector<std::size_t> last(text.size() + 1);
    best[0] = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        for (std::size_t id = 0; id < std::size(tokens); ++id) {
            const bool unknown = id == 0;
            const std::size_t length = unknown ? 1 : tokens[id].first.size();
            if (unknown ? text[at] != 'c' : text.compare(at, length, tokens[id].first) != 0) continue;
            const float score = unknown ? (-5.1f - 10) + best[at] : tokens[id].second + best[at];
            if (score > best[at + length]) best[at + length] = score, last[at + length] = id;
        }
    Ids expected;
    for (std::size_t at = text.size(); at > 0; at -= last[at] == 0 ? 1 : tokens[last[at]].first.size())
        if (last[at] != 0 || expected.empty() || expected.back() != 0)
            expected.push_back(static_cast<std::int64_t>(last[at]));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(make_sentencepiece(file, {}, "test.model")->encode(text), expected);
}

// Pairs are merged one after the other, the first rule first, as the algorithm is told in papers.
Ids merged_by_rules(const std::string& text, const std::vector<std::pair<std::string, std::string>>& rules,
                    const std::vector<std::string>& tokens) {
    std::vector<std::string> pieces;
    for (const char c : text) pieces.emplace_back(1, c);
    for (const auto& [left, right] : rules) {
        std::vector<std::string> merged;
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (i + 1 < pieces.size() && pieces[i] == left && pieces[i + 1] == right)
                merged.push_back(left + pieces[i++ + 1]);
            else
                merged.push_back(pieces[i]);
        pieces = std::move(merged);
    }
    Ids ids;
    for (const std::string& piece : pieces)
        ids.push_back(std::find(tokens.begin(), tokens.end(), piece) - tokens.begin());
    return ids;
}

TEST(Models, CutLongTextsOfBytesWhereNoTokenReachesAcross) {
    const std::vector<std::string> tokens{"a", "b", "c", "ab", "aba", "bb", "abab"};
    const std::vector<std::pair<std::string, std::string>> rules{{"a", "b"}, {"ab", "a"}, {"b", "b"}, {"ab", "ab"}};
    Json vocabulary = Json::object(), merges = Json::array();
    for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary.set(tokens[id], id);
    for (const auto& [left, right] : rules) merges.push_back(left + " " + right);
    const Json file =
        Json::object()
            .set("model", Json::object().set("type", "BPE").set("vocab", vocabulary).set("merges", merges))
            .set("pre_tokenizer", to_json(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})"));
    std::mt19937 random(7);
    std::string text;
    while (text.size() < 100'000) text += "abc"[random() % 16 == 0 ? 2 : random() % 2];
    EXPECT_EQ(parse_tokenizer_json(file, "tokenizer.json")->encode(text), merged_by_rules(text, rules, tokens));
}

TEST(Models, RefuseWordsThatFillTheMemory) {
    testing::expect_error([] { file_with("normalizer", {})->encode(run_of_a(limits::longest_word + 1)); },
                          {"16777217", "16777216"});
}

TEST(AddedTokens, WalkThroughARunOfSpacesOnce) {
    Json list = Json::array();
    list.push_back(to_json(R"({"id": 9, "content": "\n", "rstrip": true, "lstrip": true, "single_word": false,
        "normalized": false, "special": false})"));
    constexpr std::size_t spaces = 1'000'000;  // of those that are tokens
    Ids expected(spaces, 9);
    expected.push_back(0);
    EXPECT_EQ(file_with("added_tokens", list)->encode(std::string(spaces, '\n') + "a"), expected);
}

TEST(Models, HaveNoLongAffixes) {
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        Json model = to_json(few_letters);
        model.set(field, run_of_a(17));
        testing::expect_error([&] { parse_tokenizer_json(Json::object().set("model", model), "tokenizer.json"); },
                              {"tokenizer.json: model.", field, "16"});
    }
}

TEST(RankFile, PutsLongTokensTogetherInLinearTime) {
    std::string text;
    for (int byte = 0; byte < 3; ++byte)
        text += std::string(1, static_cast<char>('Q' + byte)) + "Q== " + std::to_string(byte) + "\n";
    std::string base64;
    for (int i = 0; i < 1'000'000; ++i) base64 += "QUFB";  // AAA
    text += "QUE= 3\n" + base64 + " 4\n";
    const auto tokenizer = parse_tiktoken_file(text, {}, "test.tiktoken");
    EXPECT_EQ(tokenizer->encode("AA", false), Ids{3});
    EXPECT_EQ(tokenizer->encode(std::string(3'000'000, 'A'), false), Ids{4});
}

TEST(TokenizerFolder, TakesManyNamedTokens) {
    const testing::TemporaryFolder folder;
    std::string words = "[UNK]\n[CLS]\n[SEP]\n", list;
    for (int i = 0; i < 300'000; ++i) {
        words += "w" + std::to_string(i) + "\n";
        list += (i ? ",\"w" : "\"w") + std::to_string(i) + "\"";
    }
    folder.write("vocab.txt", words);
    folder.write("tokenizer_config.json", R"({"additional_special_tokens": [)" + list + "]}");
    EXPECT_EQ(open_tokenizer(folder.path())->encode("w7 w299999", false), (Ids{10, 300002}));
}

TEST(Decoder, KeepsWhatMayBeStrippedAsACount) {
    const auto tokenizer = file_with("decoder", to_json(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
        {"type": "Strip", "content": "a", "start": 1, "stop": 1000000000}]})"));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(run_of_a(1'000'000) + "b" + run_of_a(1'000'000))),
              run_of_a(999'999) + "b");
}

TEST(Parts, OfALongTextAreItsIds) {
    const std::filesystem::path goldens = testing::golden_path("tokenizers");
    std::string text;
    while (text.size() < 1'000'000)
        text +=
            "The quick brown fox, 0123: \xC3\x9Cn\xC3\xAF"
            "c\xC3\xB6"
            "d\xC3\xA9 \xE4\xB8\xAD\xE4\xB8\xAD?\n  jumps\tover! ";
    for (const auto& folder : std::filesystem::directory_iterator(goldens)) {
        const auto tokenizer = open_tokenizer(folder.path());
        for (const bool with_special : {false, true}) {
            Ids ids;
            std::size_t longest = 0;
            tokenizer->encode_in_parts(
                text,
                [&](std::span<const std::int64_t> part) {
                    longest = std::max(longest, part.size());
                    ids.insert(ids.end(), part.begin(), part.end());
                },
                with_special);
            EXPECT_EQ(ids, tokenizer->encode(text, with_special)) << folder.path();
            EXPECT_GT(longest, 0u);
        }
    }
}

}  // namespace
}  // namespace tessera::tokenizers
