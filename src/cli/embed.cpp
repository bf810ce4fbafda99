// tessera embed: sentence vectors.
#include <cstdio>
#include <iostream>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/input_texts.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "inference/sentence_encoder.h"
#include "ops/concat.h"

namespace tessera::cli {

int embed_command(const std::vector<std::string>& arguments) {
    std::string folder, output, device = "cpu";
    std::vector<std::string> given;
    std::int64_t batch_size = 32;
    Arguments parser("embed", "A vector per text, for search and comparison: a JSON line each, or one .npy file.",
                     "tessera embed DIR \"A cat sits.\" \"A dog runs.\"");
    parser.positional("DIR", folder, "a folder of the Hub's layout with an encoder");
    parser.positionals("TEXT", given, "texts; -: each line of standard input");
    parser.option("-o,--output", output, "a .npy file to write, (texts, width) in f32");
    parser.option("--batch", batch_size, "texts at once");
    parser.device(device);
    if (const auto status = parser.parse(arguments)) return *status;
    check(batch_size > 0, "--batch: expected 1 or more, found ", batch_size);
    check(output.empty() || output.ends_with(".npy"), "--output: '", output, "' does not end in .npy");

    if (!output.empty()) check_output_file(output, "\x93NUMPY", {});
    const inference::SentenceEncoder encoder(folder, device_named(device));
    const std::vector<std::string> texts = input_texts(given);
    check(!texts.empty(), "no texts on standard input");
    std::vector<Tensor> parts;
    {
        Progress progress("embed", static_cast<double>(texts.size()), "texts");
        for (std::size_t begin = 0; begin < texts.size(); begin += static_cast<std::size_t>(batch_size)) {
            const std::size_t end = std::min(begin + static_cast<std::size_t>(batch_size), texts.size());
            const Tensor vectors = encoder.embed(
                {texts.begin() + static_cast<std::ptrdiff_t>(begin), texts.begin() + static_cast<std::ptrdiff_t>(end)});
            progress.set(static_cast<double>(end));
            if (!output.empty()) {
                parts.push_back(vectors);
                continue;
            }
            const auto numbers = vectors.to_vector<float>();
            const auto width = static_cast<std::size_t>(vectors.size(1));
            for (std::size_t row = 0; row < end - begin; ++row) {
                formats::Json vector = formats::Json::array();
                for (std::size_t i = 0; i < width; ++i) vector.push_back(double{numbers[row * width + i]});
                std::printf("%s\n", formats::Json::object()
                                        .set("text", texts[begin + row])
                                        .set("vector", std::move(vector))
                                        .dump(0)
                                        .c_str());
            }
            check_output();
        }
    }
    if (output.empty()) return 0;
    const Tensor all = ops::concat(parts, 0);
    formats::write_npy(output, all);
    std::printf("%s: %lld vectors of %lld numbers\n", output.c_str(), static_cast<long long>(all.size(0)),
                static_cast<long long>(all.size(1)));
    return 0;
}

}  // namespace tessera::cli
