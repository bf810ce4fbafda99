// Tokenizer files are written for Oniguruma in Ruby's dialect: \s is White_Space, \w has marks in it, \h is a
// hexadecimal digit, classes nest and meet. Here such a pattern becomes one of PCRE2's.
#pragma once

#include <string>
#include <string_view>

namespace tessera::tokenizers {

// `name` is what errors name: the file and the field.
std::string in_dialect_of_pcre2(std::string_view pattern, const std::string& name);

}  // namespace tessera::tokenizers
