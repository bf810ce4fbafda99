// The text of one row as its tokens come: whole characters, up to a stop string.
#pragma once

#include <span>

#include "tessera/inference/stop_strings.h"
#include "tessera/tokenizers/stream_decoder.h"

namespace tessera::inference {

class Detokenizer {
   public:
    // `before`: the tokens that the row goes on from. Whether a word begins with a space depends on them.
    Detokenizer(const tokenizers::Tokenizer& tokenizer, std::span<const std::int64_t> before,
                const std::vector<std::string>& stops);

    std::string add(std::int64_t id);  // the text that is sure now
    std::string finish();              // what is left
    bool stopped() const { return stops_.found(); }
    const std::string& whole() const { return whole_; }  // all that was given out

   private:
    std::string given(std::string text);

    tokenizers::StreamDecoder decoder_;
    StopStrings stops_;
    std::string whole_;
};

}  // namespace tessera::inference
