// A list of words that grows: a word that was never seen gets the next id.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

class WordList {
   public:
    explicit WordList(std::vector<std::string> first = {});  // words that have their ids from the beginning

    // Words are runs of letters, digits and underscores, or runs of other characters that are no space.
    Ids encode(std::string_view text);
    std::string decode(std::span<const std::int64_t> ids) const;  // with spaces between; throws past the end

    std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
    const std::vector<std::string>& words() const { return words_; }

   private:
    std::vector<std::string> words_;
    std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace tessera::tokenizers
