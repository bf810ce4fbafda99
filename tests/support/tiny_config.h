// A model's configuration written out in a test.
#pragma once

#include <string>

#include "formats/config.h"

namespace tessera::testing {

inline formats::Config config_of(const std::string& json) {
    return {formats::Json::parse(json, "config.json"), "config.json"};
}

// The text with its first `from` replaced by `to`; both stand for fields.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace tessera::testing
