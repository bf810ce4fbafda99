#include "tessera/core/error.h"

#include <fmt/format.h>

#include <iterator>

namespace tessera {
namespace {

std::string without_zeros(const std::string& text) {
    std::string out;
    for (const char c : text) c == '\0' ? out += "\\0" : out += c;
    return out;
}

}  // namespace

Error::Error(const std::string& text) : std::runtime_error(without_zeros(text)) {}

void append_text(std::string& text, double part) { fmt::format_to(std::back_inserter(text), "{:.9g}", part); }

}  // namespace tessera
