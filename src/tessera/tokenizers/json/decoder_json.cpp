// The decoders of tokenizer.json by their names there.
#include "tessera/core/error.h"
#include "tessera/tokenizers/json/component.h"

namespace tessera::tokenizers {
namespace {

std::size_t read_count(const Component& component, const char* name) {
    const std::int64_t count = component.settings().integer(name, 0);
    check(count >= 0, component.named(name), ": expected a count, found ", count);
    return static_cast<std::size_t>(count);
}

}  // namespace

std::unique_ptr<Decoder> read_decoder(const Component& component) {
    const formats::Config& settings = component.settings();
    const std::string type = component.type();
    if (type == "ByteLevel") return byte_level_decoder();
    if (type == "ByteFallback") return byte_fallback_decoder();
    if (type == "Fuse") return fuse_decoder();
    if (type == "Strip")
        return strip_decoder(component.character("content", ' '), read_count(component, "start"),
                             read_count(component, "stop"));
    if (type == "Replace")
        return replace_decoder(component.pattern("pattern"), settings.text("content"), component.named("content"));
    if (type == "Metaspace")
        return metaspace_decoder(component.character("replacement", 0x2581), read_prepend_scheme(component));
    if (type == "WordPiece")
        return word_piece_decoder(settings.text("prefix", "##"), settings.boolean("cleanup", true));
    if (type == "BPEDecoder") return suffix_decoder(settings.text("suffix", "</w>"));
    if (type == "CTC")
        return ctc_decoder(settings.text("pad_token", "<pad>"), settings.text("word_delimiter_token", "|"),
                           settings.boolean("cleanup", true));
    if (type == "Sequence") {
        std::vector<std::unique_ptr<Decoder>> parts;
        for (const Component& part : component.list("decoders")) parts.push_back(read_decoder(part));
        return sequence_decoder(std::move(parts));
    }
    component.unknown("decoder");
}

}  // namespace tessera::tokenizers
