// Binary data that is offered as text by mistake.
#pragma once

#include <string>
#include <string_view>

namespace tessera::formats {

// What a file's first bytes say that it is ("a PNG image"); empty: nothing that is known here.
std::string_view binary_format(std::string_view bytes);
// Throws for a known binary format and for bytes that hold a zero, which no text does. Bytes that are no UTF-8 may be
// text all the same. `source` is what the error names.
void check_is_text(std::string_view bytes, const std::string& source);

}  // namespace tessera::formats
