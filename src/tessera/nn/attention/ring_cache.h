// The rolling buffer of a sliding window w: position i lives in slot i mod w, so memory stays at w tokens however long
// the text grows (Mistral 7B, Jiang et al. 2023).
#pragma once

#include "tessera/nn/attention/cache.h"

namespace tessera::nn {

class RingCache : public KeyValueCache {
   public:
    explicit RingCache(std::int64_t window);

    // One token overwrites one slot, and every slot may then be seen by its query, in whatever order the slots stand.
    // Several tokens (a prompt) need the keys in order: the window before them, then their own.
    KeyValues append(const Tensor& key, const Tensor& value, bool keep_order) override;
    std::int64_t length() const override { return length_; }
    std::int64_t bytes() const override;
    void clear() override { length_ = 0; }
    void reorder(std::span<const std::int64_t> rows) override;
    void truncate(std::int64_t tokens) override;
    bool can_truncate(std::int64_t tokens) const override;

   private:
    Tensor in_order(const Tensor& ring, const Tensor& newest) const;
    void write(Tensor& ring, const Tensor& newest) const;

    std::int64_t window_;
    std::int64_t length_ = 0;
    Tensor keys_, values_;  // (B, window, KH, D)
};

}  // namespace tessera::nn
