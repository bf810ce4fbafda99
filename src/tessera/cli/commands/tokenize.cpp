// tessera tokenize: a text's tokens and their ids.
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::cli {
namespace {

using formats::Json;
using tokenizers::Tokenizer;

void write(const std::string& json) {
    const std::string shown = json_for_terminal(json);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    check_output();
}

// What stands between the quotes; on one line also to readers that end lines at U+0085, U+2028 and U+2029.
std::string between_quotes(const std::string& text) {
    std::string line = Json(text).dump(0);
    line = line.substr(1, line.size() - 2);
    constexpr std::pair<const char*, const char*> ends[] = {
        {"\xC2\x85", "\\u0085"}, {"\xE2\x80\xA8", "\\u2028"}, {"\xE2\x80\xA9", "\\u2029"}};
    for (const auto& [character, escaped] : ends)
        for (std::size_t at = 0; (at = line.find(character, at)) != std::string::npos;)
            line.replace(at, std::string_view(character).size(), escaped);
    return line;
}

void write_ids(const Tokenizer& tokenizer, const std::string& text, bool with_special) {
    bool is_first = true;
    tokenizer.encode_in_parts(
        text,
        [&](std::span<const std::int64_t> ids) {
            std::string list;
            for (const std::int64_t id : ids) {
                list += text_of(is_first ? "" : ",", id);
                is_first = false;
            }
            write(list);
        },
        with_special);
}

// In parts, as they are found: of a long text nothing is held but the text.
void write_answer(const Tokenizer& tokenizer, const std::string& text) {
    write("{\"ids\":[");
    write_ids(tokenizer, text, false);
    write("],\"ids_with_special\":[");
    write_ids(tokenizer, text, true);
    write("],\"decoded\":\"");
    const std::unique_ptr<tokenizers::TextStream> decoded = tokenizer.stream(false);
    std::string piece;
    tokenizer.encode_in_parts(
        text,
        [&](std::span<const std::int64_t> ids) {
            piece.clear();
            for (const std::int64_t id : ids) decoded->add(id, piece);
            write(between_quotes(piece));
        },
        false);
    piece.clear();
    decoded->finish(piece);
    write(between_quotes(piece) + "\"}\n");
}

int answer_lines(const Tokenizer& tokenizer) {
    std::int64_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
        const std::string where = text_of("line ", ++number);
        const Json text = Json::parse(line, where);
        check(text.is_string(), where, ": expected a JSON string, found ", text);
        write_answer(tokenizer, text.as_string());
    }
    return 0;
}

// On a terminal each token on a ground of its own colour with its id beside it, elsewhere one a line.
void print_tokens(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
    constexpr int grounds[] = {44, 42, 45, 46, 41, 43};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string text = one_line(tokenizer.token(ids[i]));
        if (is_terminal())
            std::printf("\033[30;%dm%s\033[0m%s ", grounds[i % std::size(grounds)], text.c_str(),
                        faint(text_of(" ", ids[i])).c_str());
        else
            std::printf("%lld\t%s%s\n", static_cast<long long>(ids[i]), text.c_str(),
                        tokenizer.is_special(ids[i]) ? "\t(special)" : "");
    }
    check_output();
}

}  // namespace

int tokenize_command(const std::vector<std::string>& arguments) {
    std::string source;
    std::vector<std::string> texts, files;
    bool lines = false, json = false, plain = false;
    Arguments parser("tokenize",
                     "Shows the tokens of a text and their ids. With --jsonl every line of standard input is a JSON\n"
                     "string, and each is answered by one line with ids, ids_with_special and the text decoded again.",
                     "tessera tokenize DIR \"Hello, world\"");
    parser.model("DIR", source, "a folder, a tokenizer file or a .gguf file");
    parser.texts("TEXT", texts, files, "the text; - reads it from standard input",
                 "a file that holds the text (default: TEXT)");
    parser.flag("--jsonl", lines, "one JSON string a line in, one JSON object a line out");
    parser.flag("--no-special", plain, "without the tokens that stand around a text");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    const std::size_t given = texts.size() + files.size();
    if (lines && given > 0) return parser.refuse("--jsonl reads its texts from standard input, not from TEXT");
    if (!lines && given == 0) return parser.refuse("TEXT is missing");
    if (given > 1) return parser.refuse(text_of("expected one text, found ", given));

    if (lines) return answer_lines(*tokenizers::open_tokenizer(source));
    const std::string text = one_text(texts, files);
    const std::shared_ptr<const Tokenizer> tokenizer = tokenizers::open_tokenizer(source);
    if (json) {
        write_answer(*tokenizer, text);
        return 0;
    }
    std::size_t count = 0;
    tokenizer->encode_in_parts(
        text,
        [&](std::span<const std::int64_t> ids) {
            print_tokens(*tokenizer, ids);
            count += ids.size();
        },
        !plain);
    if (is_terminal()) std::printf("\n%s\n", faint(counted(count, "token")).c_str());
    return 0;
}

}  // namespace tessera::cli
