// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::text {

std::optional<std::string> from_base64(std::string_view text);  // nothing where it is none

}  // namespace tessera::text
