// A model's configuration written out in a test.
#pragma once

#include <string>

#include "support/expect_error.h"
#include "tessera/formats/config.h"
#include "tessera/models/catalog.h"

namespace tessera::testing {

inline formats::Config config_of(const std::string& json) {
    return {formats::Json::parse(json, "config.json"), "config.json"};
}

// The text with its first `from` replaced by `to`; both stand for fields.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

// Building from the text with that change is refused, naming the file and the field.
inline void expect_rejected(const std::string& json, const std::string& from, const std::string& to,
                            const std::string& field) {
    expect_error([&] { models::build(config_of(replaced(json, from, to))); }, {"config.json", field});
}

}  // namespace tessera::testing
