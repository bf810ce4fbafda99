// tessera embed: sentence vectors, and how alike sentences are by them.
#include <fmt/format.h>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/similarity_table.h"
#include "tessera/cli/commands/truncation_notice.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/formats/npy.h"
#include "tessera/inference/sentence_encoder.h"
#include "tessera/ops/concat.h"

namespace tessera::cli {
namespace {

using Texts = std::vector<std::string>;

void print_vectors(const Texts& texts, std::size_t first, const inference::EmbeddedTexts& embedded) {
    const Tensor& vectors = embedded.vectors;
    const auto numbers = vectors.to_vector<float>();
    const auto width = static_cast<std::size_t>(vectors.size(1));
    for (std::size_t row = 0; row < static_cast<std::size_t>(vectors.size(0)); ++row) {
        formats::Json vector = formats::Json::array();
        for (std::size_t i = 0; i < width; ++i) vector.push_back(double{numbers[row * width + i]});
        const formats::Json line = formats::Json::object()
                                       .set("text", texts[first + row])
                                       .set("tokens", embedded.read[row].tokens)
                                       .set("truncated", embedded.read[row].is_truncated)
                                       .set("vector", std::move(vector));
        fmt::print("{}\n", json_for_terminal(line.dump(0)));
    }
    check_output();
}

}  // namespace

int embed_command(const std::vector<std::string>& arguments) {
    std::string folder, output, device = "cpu";
    Texts given, files;
    std::int64_t batch_size = 32;
    bool similarity = false, json = false, overwrite = false;
    Arguments parser("embed",
                     "A vector per text, for search and comparison: a JSON line each, or one .npy file; or how alike "
                     "the texts are, by the cosines of their vectors.",
                     "tessera embed DIR \"A cat sits.\" \"A dog runs.\" --similarity");
    parser.model("DIR", folder, "a folder of the Hub's layout with an encoder");
    parser.texts("TEXT", given, files, "texts; -: each line of standard input",
                 "a file of which each line is a text; may be repeated");
    parser.option("-o,--output", output, "a .npy file to write, (texts, width) in f32 (default: JSON lines)");
    parser.flag("--similarity", similarity, "how alike the texts are, and which is nearest to each");
    parser.option("--batch", batch_size, "texts at once");
    parser.overwrite(overwrite);
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (given.empty() && files.empty()) return parser.refuse("TEXT is missing");
    if (similarity && !output.empty()) return parser.refuse("--similarity prints a table, and --output writes vectors");
    check(batch_size > 0, "--batch: expected 1 or more, found ", batch_size);
    check(output.empty() || output.ends_with(".npy"), "--output: '", output, "' does not end in .npy");

    if (!output.empty()) check_output_file(output, "\x93NUMPY", {files.begin(), files.end()}, {.overwrite = overwrite});
    const Texts texts = input_texts(given, files);
    check(!texts.empty(), "there are no texts: standard input and the files are empty");
    constexpr std::size_t most_compared = 1000;  // each with each
    check(!similarity || (texts.size() >= 2 && texts.size() <= most_compared), "--similarity: expected 2 to ",
          most_compared, " texts, found ", texts.size());
    const models::OpenedModel model = models::open_model(folder, {.device = parse_device(device),
                                                                  .needs_tokenizer = models::NeedsTokenizer::Yes,
                                                                  .capability = models::Capability::EmbedTexts});
    const inference::SentenceEncoder encoder(model);
    std::vector<Tensor> parts;
    std::vector<inference::ReadText> read;
    {
        Progress progress("embed", static_cast<double>(texts.size()), "texts");
        for (std::size_t begin = 0; begin < texts.size(); begin += static_cast<std::size_t>(batch_size)) {
            const std::size_t end = std::min(begin + static_cast<std::size_t>(batch_size), texts.size());
            const inference::EmbeddedTexts embedded = encoder.embed(
                {texts.begin() + static_cast<std::ptrdiff_t>(begin), texts.begin() + static_cast<std::ptrdiff_t>(end)});
            read.insert(read.end(), embedded.read.begin(), embedded.read.end());
            progress.set(static_cast<double>(end));
            if (output.empty() && !similarity)
                print_vectors(texts, begin, embedded);
            else
                parts.push_back(embedded.vectors);
        }
    }
    if (!json) print_truncation(read);
    if (parts.empty()) return 0;
    const Tensor all = ops::concat(parts, 0);
    if (similarity) {
        const Similarities found = similarities_of(texts, all);
        const auto in_json = [&] { return to_json(found).set("truncated", count_truncated(read)).dump() + "\n"; };
        fmt::print("{}", json ? json_for_terminal(in_json()) : table_of(found));
        return 0;
    }
    formats::write_npy(output, all);
    if (json)
        fmt::print("{}\n", json_for_terminal(formats::Json::object()
                                                 .set("file", output)
                                                 .set("vectors", all.size(0))
                                                 .set("width", all.size(1))
                                                 .set("truncated", count_truncated(read))
                                                 .dump(0)));
    else
        fmt::print("{}: {} of {}\n", one_line(output), counted(all.size(0), "vector"), counted(all.size(1), "number"));
    return 0;
}

}  // namespace tessera::cli
