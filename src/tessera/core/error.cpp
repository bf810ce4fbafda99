#include "tessera/core/error.h"

#include <cstdio>

namespace tessera {
namespace {

std::string without_zeros(const std::string& text) {
    std::string out;
    for (const char c : text) c == '\0' ? out += "\\0" : out += c;
    return out;
}

}  // namespace

Error::Error(const std::string& text) : std::runtime_error(without_zeros(text)) {}

void append_text(std::string& text, double part) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.9g", part);
    text += buffer;
}

}  // namespace tessera
