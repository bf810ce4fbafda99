// Where a text stands within another. The time is linear in both, whatever they are; std::string::find's is not.
#pragma once

#include <string>
#include <string_view>

#include "tessera/jinja/runtime.h"

namespace tessera::jinja {

// npos where it is not there.
std::size_t search(Runtime& runtime, std::string_view text, std::string_view wanted, std::size_t from = 0);

// From the right. Holds both backwards, so that one place after the other is found in linear time.
class SearchFromRight {
   public:
    SearchFromRight(Runtime& runtime, std::string_view text, std::string_view wanted);
    std::size_t before(std::size_t end);  // where the last that ends there or before begins; npos where there is none

   private:
    Runtime& runtime_;
    std::string text_, wanted_;
};

}  // namespace tessera::jinja
