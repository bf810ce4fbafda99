// Templates that the grammar makes out of the bytes, over a small conversation.
#include "rendering.h"
#include "template_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const auto values = tessera::formats::Json::parse(
        R"({"a": "é a", "x": [3, 1.5, null], "messages": [{"role": "user", "content": "Hi <b>"},
            {"role": "assistant", "content": "Hello\n", "parts": [{"type": "text", "n": 7}]}]})",
        "values");
    const std::string source = TemplateGrammar(bytes, size).run();
    if (std::getenv("SHOW_TEMPLATE")) std::fprintf(stderr, "%s\n", source.c_str());
    check_rendering(source, values);
    return 0;
}
