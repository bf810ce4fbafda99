#include "tessera/tokenizers/structures/vocabulary.h"

#include <algorithm>
#include <bit>

#include "tessera/core/error.h"

namespace tessera::tokenizers {

void Vocabulary::reserve(std::size_t tokens, std::size_t bytes) {
    entries_.reserve(tokens);
    text_.reserve(bytes);
    grow(std::bit_ceil(std::max<std::size_t>(2 * tokens, 16)));
}

// Where the token is, or would be.
std::size_t Vocabulary::slot_of(std::string_view token, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    const auto check_bits = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (slots_[slot] == no_entry) return slot;
        const Entry& entry = entries_[slots_[slot]];
        if (entry.hash == check_bits && text(entry) == token) return slot;
    }
}

void Vocabulary::grow(std::size_t slots) {
    if (slots <= slots_.size()) return;
    slots_.assign(slots, no_entry);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        const std::string_view token = text(entries_[i]);
        slots_[slot_of(token, hash_of(token))] = i;
    }
}

void Vocabulary::add(std::string_view token, std::int64_t id) {
    check(id >= 0 && id < most_ids, "id ", id, " is outside 0 … ", most_ids - 1);
    check(text_.size() + token.size() < no_entry, "the vocabulary's text is longer than 4 GB");
    if (slots_.size() < 2 * (entries_.size() + 1)) grow(std::max<std::size_t>(2 * slots_.size(), 16));
    const std::uint64_t hash = hash_of(token);
    const std::size_t slot = slot_of(token, hash);
    if (slots_[slot] == no_entry) {
        slots_[slot] = static_cast<std::uint32_t>(entries_.size());
        entries_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(token.size()),
                            static_cast<std::uint32_t>(hash >> 32), 0});
        text_ += token;
        longest_ = std::max(longest_, token.size());
    }
    entries_[slots_[slot]].id = static_cast<std::int32_t>(id);
    if (id >= size()) by_id_.resize(static_cast<std::size_t>(id) + 1, no_entry);
    by_id_[static_cast<std::size_t>(id)] = slots_[slot];
}

std::int32_t Vocabulary::find(std::string_view token, std::uint64_t hash) const {
    if (slots_.empty() || token.size() > longest_) return -1;
    const std::uint32_t entry = slots_[slot_of(token, hash)];
    return entry == no_entry ? -1 : entries_[entry].id;
}

std::string_view Vocabulary::token(std::int64_t id) const {
    return text(entries_[by_id_[static_cast<std::size_t>(id)]]);
}

}  // namespace tessera::tokenizers
