// tessera fill: what a masked language model puts into the gaps of a text.
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/inference/fill_mask.h"

namespace tessera::cli {

int fill_command(const std::vector<std::string>& arguments) {
    std::string folder, device = "cpu";
    std::vector<std::string> texts, files;
    std::int64_t top = 5;
    bool json = false;
    Arguments parser("fill", "Fills the gaps of a text with a masked language model.",
                     "tessera fill DIR \"Paris is the [MASK] of France.\"");
    parser.model("DIR", folder, "a folder of the Hub's layout");
    parser.texts("TEXT", texts, files, "a text with the model's mask token, [MASK] or <mask>; -: standard input",
                 "a file that holds the text (default: TEXT)");
    parser.option("--top", top, "how many tokens to show for each gap");
    parser.device(device);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    const std::size_t given = texts.size() + files.size();
    if (given != 1) return parser.refuse(given == 0 ? "TEXT is missing" : text_of("expected one text, found ", given));
    check(top > 0, "--top: expected 1 or more, found ", top);

    const std::string text = one_text(texts, files);
    const models::OpenedModel model = models::open_model(folder, {.device = parse_device(device),
                                                                  .needs_tokenizer = models::NeedsTokenizer::Yes,
                                                                  .capability = models::Capability::Fill});
    formats::Json out = formats::Json::array();
    for (const auto& gap : inference::fill_mask(model, text, top)) {
        formats::Json list = formats::Json::array();
        for (const inference::Filler& filler : gap) {
            if (!json)
                std::printf("%6.2f %%  %s  %s\n", filler.probability * 100, bold(one_line(filler.token)).c_str(),
                            faint(one_line(filler.text)).c_str());
            list.push_back(formats::Json::object()
                               .set("id", filler.id)
                               .set("token", filler.token)
                               .set("probability", filler.probability)
                               .set("text", filler.text));
        }
        out.push_back(std::move(list));
        if (!json) std::printf("\n");
    }
    if (json) std::printf("%s\n", json_for_terminal(out.dump()).c_str());
    return 0;
}

}  // namespace tessera::cli
