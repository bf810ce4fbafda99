// Where a pattern stands in a text: by regular expression (PCRE2 in Oniguruma's dialect, as tokenizer files write it),
// by a scanner of our own for the patterns in wide use, by a literal or by a kind of character.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/core/function_ref.h"

namespace tessera::tokenizers {

class Splitter {
   public:
    virtual ~Splitter() = default;
    // Every match in valid UTF-8, from left to right; none is empty.
    virtual void find(std::string_view text, FunctionRef<void(std::size_t begin, std::size_t end)> give) const = 0;
};

// A scanner where there is one, else a regular expression. `name` is what errors name: the file and the field.
std::unique_ptr<Splitter> pattern_splitter(const std::string& pattern, const std::string& name);
std::unique_ptr<Splitter> regex_splitter(const std::string& pattern, const std::string& name);
std::unique_ptr<Splitter> scanner_splitter(const std::string& pattern);  // null: no scanner for it
std::unique_ptr<Splitter> literal_splitter(std::string literal);
std::unique_ptr<Splitter> character_splitter(bool (*matches)(char32_t));

// The split of the first byte-level vocabulary, which files take for granted.
extern const char* const byte_level_pattern;

}  // namespace tessera::tokenizers
