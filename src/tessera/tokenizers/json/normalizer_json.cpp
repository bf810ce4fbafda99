// The normalizers of tokenizer.json by their names there.
#include "tessera/core/error.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/sentencepiece/character_map.h"

namespace tessera::tokenizers {
namespace {

std::unique_ptr<Normalizer> read_clean_text(const formats::Config& settings) {
    CleanTextOptions options{.clean = settings.boolean("clean_text", true),
                             .separate_ideographs = settings.boolean("handle_chinese_chars", true),
                             .lower_case = settings.boolean("lowercase", true)};
    options.strip_accents = settings.boolean("strip_accents", options.lower_case);
    return clean_text_normalizer(options);
}

std::unique_ptr<Normalizer> read_sequence(const Component& component) {
    std::vector<std::unique_ptr<Normalizer>> parts;
    for (const Component& part : component.list("normalizers")) parts.push_back(read_normalizer(part));
    return sequence_normalizer(std::move(parts), component.named());
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Component& component) {
    const formats::Config& settings = component.settings();
    const std::string type = component.type();
    if (type == "NFC") return form_normalizer(text::NormalForm::C);
    if (type == "NFD") return form_normalizer(text::NormalForm::D);
    if (type == "NFKC") return form_normalizer(text::NormalForm::KC);
    if (type == "NFKD") return form_normalizer(text::NormalForm::KD);
    if (type == "Lowercase") return lower_case_normalizer();
    if (type == "StripAccents") return accents_normalizer();
    if (type == "Strip")
        return strip_normalizer(settings.boolean("strip_left", true), settings.boolean("strip_right", true));
    if (type == "Prepend") return prepend_normalizer(settings.text("prepend"), component.named("prepend"));
    if (type == "Replace")
        return replace_normalizer(component.pattern("pattern"), settings.text("content"), component.named("content"));
    if (type == "Nmt") return control_normalizer();
    if (type == "ByteLevel") return byte_level_normalizer();
    if (type == "BertNormalizer") return read_clean_text(settings);
    if (type == "Precompiled") {
        const char* field = "precompiled_charsmap";
        return character_map_normalizer(CharacterMap::from_base64(settings.text(field), component.named(field)),
                                        component.named(field));
    }
    if (type == "Sequence") return read_sequence(component);
    component.unknown("normalizer");
}

}  // namespace tessera::tokenizers
