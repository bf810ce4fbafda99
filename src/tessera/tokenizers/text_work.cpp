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

}  // namespace tessera::tokenizers
