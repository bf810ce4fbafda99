// tessera chat: a conversation with a model.
#include <cstdio>

#include "tessera/cli/commands.h"
#include "tessera/cli/commands/chat_session.h"
#include "tessera/cli/terminal/line_reader.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"

namespace tessera::cli {

int chat_command(const std::vector<std::string>& arguments) {
    std::string folder, tokenizer, adapter, system, device = "cpu";
    std::vector<std::string> images;
    bool no_statistics = false;
    GenerationArguments how;
    ContextArguments context;
    Arguments parser("chat",
                     "A conversation with a model, message by message. In it, /help lists what else can be said.",
                     "tessera chat DIR --system \"Answer in one sentence.\"");
    parser.model("DIR", folder, "a folder of the Hub's layout or of adapters, or a .gguf file");
    parser.option("--system,--system-prompt", system,
                  "what the model is told before everything else (default: nothing)");
    parser.option("--image FILE", images,
                  "an image to begin with, for a model that looks at them; may be repeated (default: none)");
    parser.option("--tokenizer FILE", tokenizer, "a tokenizer's file or folder (default: the model's own)");
    parser.option("--adapter DIR", adapter, "a folder of LoRA adapters to apply to the model (default: none)");
    how.declare_stops(parser, 1024);
    how.declare_sampling(parser);
    context.declare(parser);
    parser.flag("--no-stats", no_statistics, "do not tell the speed after each answer");
    parser.device(device);
    if (const auto status = parser.parse(arguments)) return *status;
    const models::OpenedModel model = models::open_model(folder, {.tokenizer = tokenizer,
                                                                  .adapter = adapter,
                                                                  .device = parse_device(device),
                                                                  .needs_tokenizer = models::NeedsTokenizer::Yes,
                                                                  .capability = models::Capability::Generate});
    check(!model.model->has_encoder(), folder, ": an encoder-decoder does not chat; see tessera translate");
    // Without a template, refused at once; who talks about images needs none.
    if (!inference::looks_at_images(model)) {
        check(!model.text().chat_template.empty(), folder,
              ": no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); tessera "
              "generate continues a text without one");
        inference::chat_prompt(model, {{.role = "user", .content = "hello"}});
    }
    check(images.empty() || inference::looks_at_images(model), "--image: ", folder,
          ": this model does not look at images");
    ChatSession chat(model, how, context);
    chat.set_system(system);
    chat.show_statistics(!no_statistics);
    for (const std::string& image : images) chat.show_image(image);
    LineReader reader;
    if (reader.is_interactive()) std::printf("%s\n", faint("/help lists what can be said; Ctrl-D leaves").c_str());
    while (const std::optional<std::string> text = reader.read("> ")) {
        try {
            if (!chat.take(*text)) break;
        } catch (const Error& error) {  // of this message: the conversation goes on
            std::fprintf(stderr, "tessera: %s\n", one_line(error.what()).c_str());
        }
    }
    return 0;
}

}  // namespace tessera::cli
