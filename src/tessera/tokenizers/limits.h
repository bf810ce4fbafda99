// Limits on what a tokenizer's file may ask for. Loading takes time in proportion to the file and a small multiple of
// its bytes; encoding and decoding take a time in proportion to the text that these numbers bound (text_work.h). Real
// files stay far below all of them; one that does not is an error that names the field.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::tokenizers::limits {

inline constexpr std::size_t most_stages = 256;  // normalizers, pre-tokenizers, processors, decoders: of each kind
inline constexpr int deepest_sequence = 8;       // sequences within sequences
inline constexpr std::size_t longest_pattern = 16 << 10;  // bytes of a regular expression
inline constexpr std::size_t longest_affix = 16;          // bytes before or after each piece of a word
inline constexpr std::size_t longest_surface = 16;        // bytes that an unknown piece is decoded to
inline constexpr std::size_t longest_word = 16 << 20;     // bytes of a text that nothing cuts: it takes many times more
inline constexpr std::size_t most_template_items = 256;   // around one text or two
inline constexpr std::size_t most_template_texts = 8;     // how often they may repeat the text
inline constexpr std::size_t most_template_ids = 4096;
inline constexpr std::size_t most_rank_merges = 4 << 20;      // of two tokens to one, in a tiktoken file
inline constexpr std::size_t most_automaton_bytes = 8 << 20;  // of tokens, where a text needs linear_matcher.h

// For each byte of a text, and for any text at all.
inline constexpr std::uint64_t steps_per_byte = 4000, free_steps = 100'000'000;
inline constexpr std::size_t growth = 16, free_growth = 1 << 20;

}  // namespace tessera::tokenizers::limits
