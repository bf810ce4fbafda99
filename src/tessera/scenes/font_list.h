// Which fonts texts are written in while a model learns, and which it never sees before it is tested.
#pragma once

#include <string>
#include <vector>

namespace tessera::scenes {

std::vector<std::string> font_list(const std::string& name);  // of "train" or "held-out"; empty for any other name
std::string font_package(const std::string& file);            // the Debian package that holds it; empty: we do not know

}  // namespace tessera::scenes
