#include "tessera/models/families/paligemma_prompt.h"

#include "tessera/core/error.h"
#include "tessera/models/vision/patches.h"

namespace tessera::models {
namespace {

using tokenizers::Ids;

constexpr std::string_view placeholder = "<image>";

// What stands between the placeholders: one piece more than there are of them.
std::vector<std::string_view> pieces_of(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (std::size_t found = text.find(placeholder); found != text.npos; found = text.find(placeholder)) {
        pieces.push_back(text.substr(0, found));
        text = text.substr(found + placeholder.size());
    }
    pieces.push_back(text);
    return pieces;
}

std::int64_t special(const Config& config, const std::optional<std::int64_t>& named, const char* field,
                     std::int64_t fallback) {
    return named ? *named : config.section("text_config").integer(field, config.integer(field, fallback));
}

}  // namespace

std::int64_t paligemma_image_token(const Config& config) {
    return config.integer(config.has("image_token_id") ? "image_token_id" : "image_token_index", 256000);
}

PromptTokens paligemma_prompt(const Config& config, const tokenizers::Tokenizer& tokenizer, const ImagePrompt& prompt) {
    const std::int64_t patches = read_images(config.section("vision_config")).patches();
    std::vector<std::string_view> pieces = pieces_of(prompt.text);
    if (pieces.size() == 1) pieces.insert(pieces.begin(), static_cast<std::size_t>(prompt.images), std::string_view());
    const auto places = static_cast<std::int64_t>(pieces.size()) - 1;
    check(places > 0, "the model answers about an image, and there is none");
    check(places == prompt.images, "the text has a place (<image>) for ", places, " images, and there are ",
          prompt.images);

    PromptTokens tokens;
    const auto append = [&](const Ids& ids) { tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end()); };
    const auto encode = [&](const std::string& text) { return text.empty() ? Ids() : tokenizer.encode(text, false); };
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        append(encode(std::string(pieces[i])));
        append(Ids(static_cast<std::size_t>(patches), paligemma_image_token(config)));
    }
    append({special(config, tokenizer.special.bos, "bos_token_id", 2)});
    append(encode(text_of(pieces.back(), "\n")));
    tokens.types.assign(tokens.ids.size(), 0);
    if (prompt.answer) {
        append(encode(std::string(*prompt.answer)));
        append({special(config, tokenizer.special.eos, "eos_token_id", 1)});
        tokens.types.resize(tokens.ids.size(), 1);
    }
    return tokens;
}

}  // namespace tessera::models
