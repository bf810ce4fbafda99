// Every byte as a printable character (GPT-2, Radford et al. 2019): those that print in Latin-1 stand for themselves,
// the other 68 are U+0100 and on, in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::tokenizers {

std::string to_byte_characters(std::string_view bytes);
// Nothing where a character stands for no byte.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace tessera::tokenizers
