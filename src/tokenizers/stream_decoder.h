// Text as it is generated: ids go in one at a time, whole UTF-8 characters come out as soon as they stand.
#pragma once

#include "tokenizers/tokenizer.h"

namespace tessera::tokenizers {

class StreamDecoder {
   public:
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);

    std::string add(std::int64_t id);  // the text that is certain now; often empty
    std::string finish();              // what is left
                                       // All pieces together are decode() of all ids.

   private:
    const Tokenizer& tokenizer_;
    bool skip_special_;
    Ids pending_;
    std::size_t given_ = 0;
};

}  // namespace tessera::tokenizers
