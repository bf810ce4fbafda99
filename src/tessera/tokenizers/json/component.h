// One component of tokenizer.json: an object with a type and its settings, which knows where it stands, so that every
// complaint names file and field.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/config.h"
#include "tessera/tokenizers/model.h"
#include "tessera/tokenizers/pipeline.h"
#include "tessera/tokenizers/stages/decoder.h"
#include "tessera/tokenizers/stages/normalizer.h"
#include "tessera/tokenizers/stages/pre_tokenizer.h"
#include "tessera/tokenizers/stages/splitter.h"

namespace tessera::tokenizers {

class Component {
   public:
    Component(const formats::Json& json, const std::string& source, const std::string& path);

    const formats::Config& settings() const { return settings_; }
    std::string type() const { return settings_.text("type"); }
    std::vector<Component> list(const char* name) const;
    char32_t character(const char* name, char32_t fallback) const;
    // {"String": …} or {"Regex": …}.
    std::unique_ptr<Splitter> pattern(const char* name) const;
    std::string named() const { return text_of(source_, ": ", path_); }  // file and field, as errors name them
    std::string named(const char* name) const;
    [[noreturn]] void unknown(const char* kind) const;

   private:
    std::string source_, path_;
    formats::Config settings_;
};

// Throws where a component and all that is within it are more, or lie deeper, than limits.h allows: to be asked before
// any of it is read.
void check_stages(const formats::Json& component, const std::string& named);

// Each throws for a type that it does not know.
std::unique_ptr<Normalizer> read_normalizer(const Component& component);
// `raw`: words reach the model as bytes, where the file has them written as characters last of all.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Component& component, bool raw);
bool ends_in_byte_level(const Component& pre_tokenizer);
std::unique_ptr<Decoder> read_decoder(const Component& component);
SpecialTemplate read_post_processor(const Component& component);
PrependScheme read_prepend_scheme(const Component& metaspace);

struct ReadModel {
    std::unique_ptr<Model> model = {};
    bool raw = false;  // wants words as bytes
};
// `byte_level`: the words that it gets end in byte_level.h's characters.
ReadModel read_model(const formats::Json& json, const std::string& source, bool byte_level);

}  // namespace tessera::tokenizers
