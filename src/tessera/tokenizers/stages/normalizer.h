// Normalization: changes to a text before it is cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/text/unicode.h"
#include "tessera/tokenizers/stages/splitter.h"

namespace tessera::tokenizers {

class Normalizer {
   public:
    virtual ~Normalizer() = default;
    virtual std::string normalize(std::string_view text) const = 0;  // valid UTF-8 to valid UTF-8
    // A quick look: true only where normalize would give the text back.
    virtual bool leaves(std::string_view /*text*/) const { return false; }
    // What normalize costs (text_work.h).
    virtual std::uint64_t steps_per_byte() const { return 8; }
};

std::unique_ptr<Normalizer> form_normalizer(text::NormalForm form);
std::unique_ptr<Normalizer> lower_case_normalizer();
std::unique_ptr<Normalizer> accents_normalizer();                     // without marks
std::unique_ptr<Normalizer> strip_normalizer(bool left, bool right);  // without spaces at the ends
// `named` is what errors name where a text would grow past all measure.
std::unique_ptr<Normalizer> prepend_normalizer(std::string prefix, std::string named);  // not before an empty text
std::unique_ptr<Normalizer> replace_normalizer(std::unique_ptr<Splitter> places, std::string content,
                                               std::string named);
std::unique_ptr<Normalizer>
control_normalizer();  // control characters gone, all kinds of space one (SentencePiece's nmt)
std::unique_ptr<Normalizer> byte_level_normalizer();  // byte_level.h
// A text as its words alone: controls gone, ideographs set apart, accents off, in lower case (BERT).
struct CleanTextOptions {
    bool clean = true, separate_ideographs = true, strip_accents = true, lower_case = true;
};
std::unique_ptr<Normalizer> clean_text_normalizer(const CleanTextOptions& options);
std::unique_ptr<Normalizer> sequence_normalizer(std::vector<std::unique_ptr<Normalizer>> parts, std::string named);

}  // namespace tessera::tokenizers
