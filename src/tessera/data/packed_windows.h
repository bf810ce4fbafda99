// Documents end to end, cut into windows of one length: no token is padding. A token knows where its document begins
// within the window, so that attention does not look across documents.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/data/token_file.h"

namespace tessera::data {

struct Window {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> document_starts;  // per token, the index within the window where its document begins
};

class PackedWindows {
   public:
    PackedWindows(TokenFile file, std::int64_t length);

    std::int64_t size() const { return windows_; }
    std::int64_t length() const { return length_; }
    Window at(std::int64_t index) const;

   private:
    TokenFile file_;
    std::int64_t length_, windows_;
};

}  // namespace tessera::data
