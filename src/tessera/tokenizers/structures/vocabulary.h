// Tokens and their ids: one block of text, and a hash table with open addressing over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {

class Vocabulary {
   public:
    // Every id is below it: room is made for all ids below the largest, so a file may not name any number.
    static constexpr std::int64_t most_ids = std::int64_t{1} << 22;

    // Room for this many tokens: adding then never has to rebuild.
    void reserve(std::size_t tokens, std::size_t bytes);
    // The same token again takes the new id; an id that is taken keeps both tokens, and shows the later one. Throws
    // where the id is out of range.
    void add(std::string_view token, std::int64_t id);

    std::int32_t find(std::string_view token) const { return find(token, hash_of(token)); }  // -1: none
    std::int32_t find(std::string_view token, std::uint64_t hash) const;
    bool has(std::int64_t id) const {
        return id >= 0 && id < size() && by_id_[static_cast<std::size_t>(id)] != no_entry;
    }
    std::string_view token(std::int64_t id) const;                                  // of an id that it has
    std::int64_t size() const { return static_cast<std::int64_t>(by_id_.size()); }  // the largest id and one
    std::int64_t count() const { return static_cast<std::int64_t>(entries_.size()); }
    std::size_t longest() const { return longest_; }  // bytes

   private:
    static constexpr std::uint32_t no_entry = 0xFFFFFFFFu;
    struct Entry {
        std::uint32_t start, length, hash;
        std::int32_t id;
    };

    std::string_view text(const Entry& entry) const { return {text_.data() + entry.start, entry.length}; }
    std::size_t slot_of(std::string_view token, std::uint64_t hash) const;
    void grow(std::size_t slots);

    std::string text_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // entry numbers; a power of two, at most half full
    std::vector<std::uint32_t> by_id_;
    std::size_t longest_ = 0;
};

}  // namespace tessera::tokenizers
