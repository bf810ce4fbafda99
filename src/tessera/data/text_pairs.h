// Sentence pairs, one to a line: source, a tab, target. What follows a second tab is passed over.
#pragma once

#include "tessera/data/lines.h"

namespace tessera::data {

struct TextPair {
    std::string_view source, target;  // into the mapped file
};

class TextPairs {
   public:
    explicit TextPairs(const std::vector<std::filesystem::path>& files);  // a line without both is an error

    std::int64_t size() const { return lines_.size(); }
    TextPair at(std::int64_t index) const;
    std::string where(std::int64_t index) const { return lines_.where(index); }

   private:
    Lines lines_;
};

}  // namespace tessera::data
