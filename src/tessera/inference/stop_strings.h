// Stop strings in a text that comes in pieces: they may begin in one piece and end in a later one, so text that could
// be the beginning of one is held back until it is sure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::inference {

class StopStrings {
   public:
    explicit StopStrings(std::vector<std::string> stops);  // none may be empty

    std::string add(std::string_view piece);  // what is sure not to belong to a stop string
    bool found() const { return found_; }     // the text has ended just before a stop string
    std::string finish();                     // what was held back, where the text ends otherwise

   private:
    std::vector<std::string> stops_;
    std::string held_;
    bool found_ = false;
};

}  // namespace tessera::inference
