// Opens a model and streams the continuation of a prompt: generate DIR "Once upon a time" [TOKENS]
#include <tessera/tessera.h>

#include <cstdlib>
#include <iostream>

using namespace tessera;

static void generate(const char* path, const std::string& prompt, std::int64_t tokens) {
    const models::OpenedModel opened = models::open_model(path);
    inference::Generator generator(opened);
    inference::GenerationRequest request{.prompts = {{.text = prompt}}, .settings = inference::settings_of(opened)};
    request.settings->max_new_tokens = tokens;
    const inference::GenerationResult result =
        generator.generate(request, [](const inference::TextPiece& piece) { std::cout << piece.text << std::flush; });
    std::cout << "\n";
    std::cerr << result.texts[0].tokens.size() << " tokens in " << result.timings.decode_seconds << " s\n";
}

int main(int count, char** arguments) {
    if (count < 3 || count > 4) {
        std::cerr << "usage: generate DIR PROMPT [TOKENS]\n";
        return 2;
    }
    try {
        generate(arguments[1], arguments[2], count == 4 ? std::atoll(arguments[3]) : 128);
    } catch (const Error& error) {
        std::cerr << "generate: " << error.what() << "\n";
        return 1;
    }
}
