// Text as it is generated: ids go in one at a time, whole UTF-8 characters come out as soon as they stand.
#pragma once

#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

class StreamDecoder {
   public:
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
        : stream_(tokenizer.stream(skip_special)) {}

    std::string add(std::int64_t id) {  // the text that is certain now; often empty
        std::string text;
        stream_->add(id, text);
        return text;
    }
    std::string finish() {  // what is left; all pieces together are decode() of all ids
        std::string text;
        stream_->finish(text);
        return text;
    }

   private:
    std::unique_ptr<TextStream> stream_;
};

}  // namespace tessera::tokenizers
