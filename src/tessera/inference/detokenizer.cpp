#include "tessera/inference/detokenizer.h"

namespace tessera::inference {

Detokenizer::Detokenizer(const tokenizers::Tokenizer& tokenizer, std::span<const std::int64_t> before,
                         const std::vector<std::string>& stops)
    : decoder_(tokenizer), stops_(stops) {
    for (const std::int64_t id : before)
        if (id >= 0 && id < tokenizer.size()) decoder_.add(id);
}

std::string Detokenizer::add(std::int64_t id) { return given(stops_.add(decoder_.add(id))); }

std::string Detokenizer::finish() {
    if (stops_.found()) return {};
    std::string text = stops_.add(decoder_.finish());
    if (!stops_.found()) text += stops_.finish();
    return given(std::move(text));
}

std::string Detokenizer::given(std::string text) {
    whole_ += text;
    return text;
}

}  // namespace tessera::inference
