#include "core/error.h"

#include <cstdio>

namespace tessera {

void append_text(std::string& text, double part) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.9g", part);
    text += buffer;
}

}  // namespace tessera
