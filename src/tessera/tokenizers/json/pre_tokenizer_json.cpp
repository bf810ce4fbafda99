// The pre-tokenizers of tokenizer.json by their names there.
#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/json/component.h"

namespace tessera::tokenizers {
namespace {

SplitBehaviour read_behaviour(const Component& component, const char* fallback) {
    const std::string name = component.settings().text("behavior", fallback);
    if (name == "Removed") return SplitBehaviour::Removed;
    if (name == "Isolated") return SplitBehaviour::Isolated;
    if (name == "MergedWithPrevious") return SplitBehaviour::MergedWithPrevious;
    if (name == "MergedWithNext") return SplitBehaviour::MergedWithNext;
    if (name == "Contiguous") return SplitBehaviour::Contiguous;
    fail(component.named("behavior"), ": no behaviour is known as ", formats::shown(name));
}

std::unique_ptr<PreTokenizer> at_characters(bool (*matches)(char32_t), SplitBehaviour behaviour) {
    return split_pre_tokenizer(character_splitter(matches), behaviour);
}

std::string text_of_character(char32_t character) {
    std::string text;
    text::append_character(text, character);
    return text;
}

// \w+|[^\w\s]+ : runs of word characters, runs of other ones.
std::unique_ptr<PreTokenizer> words_and_marks(const Component& component) {
    std::vector<std::unique_ptr<PreTokenizer>> parts;
    parts.push_back(at_characters([](char32_t c) { return text::is_space(c); }, SplitBehaviour::Removed));
    parts.push_back(at_characters(text::is_word_character, SplitBehaviour::Contiguous));
    return sequence_pre_tokenizer(std::move(parts), component.named());
}

std::unique_ptr<PreTokenizer> words_and_each_mark(const Component& component) {
    std::vector<std::unique_ptr<PreTokenizer>> parts;
    parts.push_back(at_characters([](char32_t c) { return text::is_space(c); }, SplitBehaviour::Removed));
    parts.push_back(at_characters(text::is_punctuation, SplitBehaviour::Isolated));
    return sequence_pre_tokenizer(std::move(parts), component.named());
}

std::unique_ptr<PreTokenizer> read_sequence(const Component& component, bool raw) {
    const std::vector<Component> list = component.list("pretokenizers");
    std::vector<std::unique_ptr<PreTokenizer>> parts;
    for (std::size_t i = 0; i < list.size(); ++i)
        parts.push_back(read_pre_tokenizer(list[i], raw && i + 1 == list.size()));
    return sequence_pre_tokenizer(std::move(parts), component.named());
}

}  // namespace

PrependScheme read_prepend_scheme(const Component& metaspace) {
    const formats::Config& settings = metaspace.settings();
    const std::string name =
        settings.text("prepend_scheme", settings.boolean("add_prefix_space", true) ? "always" : "never");
    if (name == "first") return PrependScheme::First;
    if (name == "never") return PrependScheme::Never;
    check(name == "always", metaspace.named("prepend_scheme"), ": expected first, never or always, found ",
          formats::shown(name));
    return PrependScheme::Always;
}

bool ends_in_byte_level(const Component& pre_tokenizer) {
    if (pre_tokenizer.type() != "Sequence") return pre_tokenizer.type() == "ByteLevel";
    const std::vector<Component> list = pre_tokenizer.list("pretokenizers");
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
        if (list[i].type() == "ByteLevel" || list[i].type() == "Sequence") return false;
    return !list.empty() && ends_in_byte_level(list.back());
}

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Component& component, bool raw) {
    const formats::Config& settings = component.settings();
    const std::string type = component.type();
    if (type == "ByteLevel")
        return byte_level_pre_tokenizer({.add_prefix_space = settings.boolean("add_prefix_space", true),
                                         .use_regex = settings.boolean("use_regex", true),
                                         .raw = raw,
                                         .named = component.named()});
    if (type == "Metaspace")
        return metaspace_pre_tokenizer(text_of_character(component.character("replacement", 0x2581)),
                                       read_prepend_scheme(component), settings.boolean("split", true),
                                       component.named());
    if (type == "Split")
        return split_pre_tokenizer(component.pattern("pattern"), read_behaviour(component, "Isolated"),
                                   settings.boolean("invert", false));
    if (type == "Whitespace") return words_and_marks(component);
    if (type == "WhitespaceSplit")
        return at_characters([](char32_t c) { return text::is_space(c); }, SplitBehaviour::Removed);
    if (type == "BertPreTokenizer") return words_and_each_mark(component);
    if (type == "Punctuation") return at_characters(text::is_punctuation, read_behaviour(component, "Isolated"));
    if (type == "Digits")
        return at_characters(text::is_number, settings.boolean("individual_digits", false)
                                                  ? SplitBehaviour::Isolated
                                                  : SplitBehaviour::Contiguous);
    if (type == "CharDelimiterSplit")
        return split_pre_tokenizer(literal_splitter(text_of_character(component.character("delimiter", ' '))),
                                   SplitBehaviour::Removed);
    if (type == "FixedLength")
        return fixed_length_pre_tokenizer(static_cast<std::size_t>(settings.positive("length", 5)));
    if (type == "Sequence") return read_sequence(component, raw);
    component.unknown("pre-tokenizer");
}

}  // namespace tessera::tokenizers
