// tessera embed: sentence vectors, and how alike sentences are by them.
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/similarity_table.h"
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

void print_vectors(const Texts& texts, std::size_t first, const Tensor& vectors) {
    const auto numbers = vectors.to_vector<float>();
    const auto width = static_cast<std::size_t>(vectors.size(1));
    for (std::size_t row = 0; row < static_cast<std::size_t>(vectors.size(0)); ++row) {
        formats::Json vector = formats::Json::array();
        for (std::size_t i = 0; i < width; ++i) vector.push_back(double{numbers[row * width + i]});
        const formats::Json line =
            formats::Json::object().set("text", texts[first + row]).set("vector", std::move(vector));
        std::printf("%s\n", json_for_terminal(line.dump(0)).c_str());
    }
    check_output();
}

}  // namespace

int embed_command(const std::vector<std::string>& arguments) {
    std::string folder, output, device = "cpu";
    Texts given, files;
    std::int64_t batch_size = 32;
    bool similarity = false, json = false;
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
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (given.empty() && files.empty()) return parser.refuse("TEXT is missing");
    if (similarity && !output.empty()) return parser.refuse("--similarity prints a table, and --output writes vectors");
    check(batch_size > 0, "--batch: expected 1 or more, found ", batch_size);
    check(output.empty() || output.ends_with(".npy"), "--output: '", output, "' does not end in .npy");

    if (!output.empty()) check_output_file(output, "\x93NUMPY", {});
    const Texts texts = input_texts(given, files);
    check(!texts.empty(), "there are no texts: standard input and the files are empty");
    constexpr std::size_t most_compared = 1000;  // each with each
    check(!similarity || (texts.size() >= 2 && texts.size() <= most_compared), "--similarity: expected 2 to ",
          most_compared, " texts, found ", texts.size());
    const models::OpenedModel model =
        models::open_model(folder, {.device = parse_device(device), .needs_tokenizer = models::NeedsTokenizer::Yes});
    const inference::SentenceEncoder encoder(model);
    std::vector<Tensor> parts;
    {
        Progress progress("embed", static_cast<double>(texts.size()), "texts");
        for (std::size_t begin = 0; begin < texts.size(); begin += static_cast<std::size_t>(batch_size)) {
            const std::size_t end = std::min(begin + static_cast<std::size_t>(batch_size), texts.size());
            const Tensor vectors = encoder.embed(
                {texts.begin() + static_cast<std::ptrdiff_t>(begin), texts.begin() + static_cast<std::ptrdiff_t>(end)});
            progress.set(static_cast<double>(end));
            if (output.empty() && !similarity)
                print_vectors(texts, begin, vectors);
            else
                parts.push_back(vectors);
        }
    }
    if (parts.empty()) return 0;
    const Tensor all = ops::concat(parts, 0);
    if (similarity) {
        const Similarities found = similarities_of(texts, all);
        std::printf("%s", json ? (json_for_terminal(to_json(found).dump()) + "\n").c_str() : table_of(found).c_str());
        return 0;
    }
    formats::write_npy(output, all);
    if (json)
        std::printf("%s\n", formats::Json::object()
                                .set("file", output)
                                .set("vectors", all.size(0))
                                .set("width", all.size(1))
                                .dump(0)
                                .c_str());
    else
        std::printf("%s: %lld vectors of %lld numbers\n", one_line(output).c_str(), static_cast<long long>(all.size(0)),
                    static_cast<long long>(all.size(1)));
    return 0;
}

}  // namespace tessera::cli
