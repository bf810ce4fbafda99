// Which two characters stand side by side within some token. Between two that never do, no merge can reach across, so a
// text may be cut there and its parts encoded each on its own: a whole text as one word becomes many short ones.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {

class AdjacentPairs {
   public:
    void add(std::string_view token) {
        for_each_pair(token, [&](char32_t left, char32_t right, std::size_t) { insert(left, right); });
    }

    bool has(char32_t left, char32_t right) const {
        if ((left | right) < 128) return ascii_[left << 7 | right];
        const std::uint64_t key = key_of(left, right);
        for (std::size_t slot = place(key); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
            if (slots_[slot] == key) return true;
        return false;
    }

    // Calls `use` with both characters and where the right one begins, for all neighbours.
    template <class Use>
    static void for_each_pair(std::string_view text, Use use) {
        if (text.empty()) return;
        char32_t left = text::character_at(text.data());
        for (std::size_t at = text::character_length(text[0]); at < text.size();) {
            const char32_t right = text::character_at(text.data() + at);
            use(left, right, at);
            left = right;
            at += text::character_length(text[at]);
        }
    }

   private:
    static std::uint64_t key_of(char32_t left, char32_t right) {  // never 0
        return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(left) << 32 | right;
    }
    std::size_t place(std::uint64_t key) const { return hash_of(key) & (slots_.size() - 1); }

    void insert(char32_t left, char32_t right) {
        if ((left | right) < 128) {
            ascii_.set(left << 7 | right);
            return;
        }
        if (has(left, right)) return;
        if (2 * ++used_ > slots_.size()) {
            std::vector<std::uint64_t> old(2 * slots_.size());
            old.swap(slots_);
            for (const std::uint64_t key : old)
                if (key != 0) put(key);
        }
        put(key_of(left, right));
    }
    void put(std::uint64_t key) {
        std::size_t slot = place(key);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = key;
    }

    std::bitset<128 * 128> ascii_;
    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024);
    std::size_t used_ = 0;
};

}  // namespace tessera::tokenizers
