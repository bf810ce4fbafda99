#include "tessera/tokenizers/text_work.h"

#include "tessera/core/error.h"

namespace tessera::tokenizers {

thread_local TextWork* WorkScope::current = nullptr;

void TextWork::complain_of_steps(const std::string& who) const {
    fail(who, ": takes too long: more than ", limits::steps_per_byte, " steps for each byte of a text of ", bytes_);
}

void TextWork::complain_of_length(const std::string& who) const {
    fail(who, ": makes a text of ", bytes_, " bytes more than ", limits::growth, " times as long");
}

void check_word(std::string_view word) {
    check(word.size() <= limits::longest_word, "tokenizer: a part of the text of ", word.size(),
          " bytes has no place where it may be cut; at most ", limits::longest_word, " are read at once");
}

}  // namespace tessera::tokenizers
