// From tokens back to text. A decoder is a chain of stages, each with a state of its own; tokens go in one at a time,
// so that text can go out while a model is still generating, and decoding at once is the same walk.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/stages/pre_tokenizer.h"
#include "tessera/tokenizers/stages/splitter.h"

namespace tessera::tokenizers {

// Takes tokens, each in one part or several.
class DecodeStage {
   public:
    virtual ~DecodeStage() = default;
    virtual void text(std::string_view part) = 0;
    virtual void end_token() = 0;
    virtual void finish() = 0;  // no more tokens
};

class Decoder {
   public:
    virtual ~Decoder() = default;
    virtual std::unique_ptr<DecodeStage> start(std::unique_ptr<DecodeStage> next) const = 0;
};

std::unique_ptr<Decoder> byte_level_decoder();     // byte_level.h, all as one token
std::unique_ptr<Decoder> byte_fallback_decoder();  // <0x00> … <0xFF>: U+FFFD for each byte of a run that is no text
std::unique_ptr<Decoder> fuse_decoder();           // all as one token
std::unique_ptr<Decoder> strip_decoder(char32_t character, std::size_t start, std::size_t stop);
std::unique_ptr<Decoder> replace_decoder(std::unique_ptr<Splitter> places, std::string content, std::string named);
std::unique_ptr<Decoder> metaspace_decoder(char32_t replacement, PrependScheme scheme);
// Spaces between words; `prefix` marks what continues one.
std::unique_ptr<Decoder> word_piece_decoder(std::string prefix, bool cleanup);
std::unique_ptr<Decoder> suffix_decoder(std::string suffix);  // `suffix` marks what ends a word
// For outputs of connectionist temporal classification: each of a run of equals once.
std::unique_ptr<Decoder> ctc_decoder(std::string padding, std::string delimiter, bool cleanup);
std::unique_ptr<Decoder> join_decoder(std::string between);  // where a file names none
std::unique_ptr<Decoder> sequence_decoder(std::vector<std::unique_ptr<Decoder>> parts);

}  // namespace tessera::tokenizers
