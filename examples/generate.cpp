// Opens a model and streams the continuation of a prompt: generate DIR "Once upon a time" [TOKENS]
#include <tessera/tessera.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

using namespace tessera;

static void generate(const char* path, const std::string& prompt, std::int64_t tokens) {
    const inference::TextModel opened = inference::open_text_model(path, {}, cpu, inference::NeedsTokenizer::Yes);
    const std::vector<std::int64_t> ids = inference::ids_of(opened, {.text = prompt});
    const std::vector<std::int64_t>& stops = opened.settings.stop_ids;

    inference::Detokenizer text(opened.text(), ids, {});
    const auto print = [&](const inference::NewToken& token) {
        if (std::count(stops.begin(), stops.end(), token.id) == 0) std::cout << text.add(token.id) << std::flush;
        return true;  // false would end the text here
    };
    const inference::Generated generated =
        inference::generate(*opened.model, inference::batch_of({ids}),
                            {.max_new_tokens = tokens, .stop_ids = stops, .sampler = opened.settings.sampler}, print);
    std::cout << text.finish() << "\n";
    std::cerr << generated.tokens[0].size() << " tokens in " << generated.decode_seconds << " s\n";
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
