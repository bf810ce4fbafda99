// tessera tokenize from outside.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera {
namespace {

using formats::Json;
using testing::Answer;
using testing::expect_refusal;
using testing::expect_success;
using testing::run_program;

const std::string folder = testing::golden_path("tokenizers/split-regex-bpe-llama3");

TEST(Tokenize, AnswersEveryLine) {
    const Json cases = Json::read(folder + "/expected.json");
    std::string input;
    for (const Json& each : cases.items()) input += each.find("text")->dump(0) + "\n";
    const Answer run = run_program({"tokenize", folder, "--jsonl"}, input);
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.err, "");
    std::string_view lines = run.out;
    for (const Json& each : cases.items()) {
        const std::size_t end = lines.find('\n');
        ASSERT_NE(end, lines.npos);
        const Json answer = Json::parse(lines.substr(0, end), "answer");
        for (const char* field : {"ids", "ids_with_special", "decoded"})
            EXPECT_TRUE(*answer.find(field) == *each.find(field)) << field << " of " << each.find("text")->as_string();
        lines.remove_prefix(end + 1);
    }
    EXPECT_TRUE(lines.empty());
}

// Long texts are answered in parts, which must fit together.
TEST(Tokenize, AnswersALongTextAsAWhole) {
    std::string text;
    while (text.size() < 400'000) text += "Hello, wörld! 中文 ";
    const Answer run = run_program({"tokenize", folder, "-", "--json"}, text);
    EXPECT_EQ(run.status, 0) << run.err;
    const Json answer = Json::parse(run.out, "answer");
    const std::vector<std::int64_t> ids = tokenizers::open_tokenizer(folder)->encode(text);
    ASSERT_EQ(answer.find("ids_with_special")->items().size(), ids.size());
    EXPECT_GT(ids.size(), 1u << 17);
    for (std::size_t i = 0; i < ids.size(); ++i)
        ASSERT_EQ(answer.find("ids_with_special")->items()[i].as_integer(), ids[i]) << i;
    EXPECT_EQ(answer.find("ids")->items().size() + 1, ids.size());
    EXPECT_EQ(answer.find("decoded")->as_string(), text);
}

TEST(Tokenize, ShowsTokensWithTheirIds) {
    EXPECT_EQ(expect_success({"tokenize", folder, "Hello"}).out,
              "0\t<|begin_of_text|>\t(special)\n41\tH\n399\tell\n80\to\n");
    EXPECT_EQ(expect_success({"tokenize", folder + "/tokenizer.json", "Hello", "--no-special"}).out,
              "41\tH\n399\tell\n80\to\n");
    EXPECT_EQ(run_program({"tokenize", folder, "-", "--json"}, "Hello").out,
              "{\"ids\":[41,399,80],\"ids_with_special\":[0,41,399,80],\"decoded\":\"Hello\"}\n");
    // Nothing ends the line but its end.
    EXPECT_NE(run_program({"tokenize", folder, "--jsonl"},
                          "\"a\xE2\x80\xA8"
                          "b\"\n")
                  .out.find("a\\u2028b"),
              std::string::npos);
}

TEST(Tokenize, RefusesWhatIsWrong) {
    expect_refusal(1, {"tokenize", "/nowhere", "x"}, {"/nowhere", "no such file"});
    expect_refusal(2, {"tokenize"}, {"DIR"});
    expect_refusal(2, {"tokenize", folder}, {"TEXT is missing"});
    EXPECT_EQ(expect_success({"tokenize", folder, ""}).out, "0\t<|begin_of_text|>\t(special)\n");
    expect_refusal(2, {"tokenize", folder, "text", "--jsonl"}, {"--jsonl"});
    const Answer number = run_program({"tokenize", folder, "--jsonl"}, "\"a\"\n5\n");
    EXPECT_EQ(number.status, 1);
    EXPECT_EQ(number.err, "tessera: line 2: expected a JSON string, found 5\n");
}

}  // namespace
}  // namespace tessera
