// The ids of words seen before, in a table of fixed size: a word takes the place of the one that was there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/structures/hash.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

class WordCache {
   public:
    static constexpr std::size_t longest_word = 30;  // bytes
    static constexpr std::size_t most_ids = 8;

    // The word's ids are appended, by `encode` where it is not known yet.
    template <class Encode>
    void append(std::string_view word, Ids& out, Encode encode) {
        if (word.size() > longest_word) return encode();
        Slot& slot = slots_[hash_of(word) >> (64 - slot_bits)];
        if (slot.length == word.size() && same(slot.word, word.data(), word.size())) {
            const std::size_t size = out.size();
            out.resize(size + slot.count);
            for (std::size_t i = 0; i < slot.count; ++i) out[size + i] = slot.ids[i];
            return;
        }
        const std::size_t before = out.size();
        encode();
        const std::size_t count = out.size() - before;
        if (count > most_ids) return;
        slot.length = static_cast<std::uint8_t>(word.size());
        slot.count = static_cast<std::uint8_t>(count);
        std::memcpy(slot.word, word.data(), word.size());
        for (std::size_t i = 0; i < count; ++i) slot.ids[i] = static_cast<std::uint32_t>(out[before + i]);
    }

   private:
    // Of at least one byte; by words that overlap, so that no call is needed.
    static bool same(const char* a, const char* b, std::size_t length) {
        const auto equal = [&]<class Word>(Word) {
            std::size_t at = 0;
            for (;; at += sizeof(Word)) {
                at = std::min(at, length - sizeof(Word));
                Word x, y;
                std::memcpy(&x, a + at, sizeof(Word));
                std::memcpy(&y, b + at, sizeof(Word));
                if (x != y) return false;
                if (at + sizeof(Word) == length) return true;
            }
        };
        return length >= 8 ? equal(std::uint64_t{}) : length >= 4 ? equal(std::uint32_t{}) : equal(std::uint8_t{});
    }

    static constexpr int slot_bits = 15;
    struct alignas(64) Slot {
        char word[longest_word];
        std::uint8_t length, count;  // a length of zero: empty
        std::uint32_t ids[most_ids];
    };

    std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(std::size_t{1} << slot_bits);
};

// Caches for as many threads as encode at once.
class WordCaches {
   public:
    std::unique_ptr<WordCache> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return std::make_unique<WordCache>();
        std::unique_ptr<WordCache> cache = std::move(free_.back());
        free_.pop_back();
        return cache;
    }
    void give_back(std::unique_ptr<WordCache> cache) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(cache));
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<WordCache>> free_;
};

}  // namespace tessera::tokenizers
