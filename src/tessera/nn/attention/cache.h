// The key–value cache of attention. Queries, scores and weights are dropped; keys and values (or the latent they come
// from) stay. Each kind of attention makes the cache that it can read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tessera/tensor/tensor.h"

namespace tessera::nn {

class Cache {
   public:
    virtual ~Cache() = default;
    virtual std::int64_t length() const = 0;  // tokens seen so far
    virtual std::int64_t bytes() const = 0;   // memory held
    virtual void clear() = 0;                 // forgets the tokens, keeps the memory
    // Row i becomes what row rows[i] was: rows may leave, stand elsewhere or be there several times.
    virtual void reorder(std::span<const std::int64_t> rows) = 0;
    // Forgets all but the first `tokens`, where what stood before them is still there.
    virtual void truncate(std::int64_t tokens) = 0;
    virtual bool can_truncate(std::int64_t) const { return true; }
};

// (B, …) → (rows.size(), …), row i being x's row rows[i].
Tensor gather_rows(const Tensor& x, std::span<const std::int64_t> rows);

struct KeyValues {
    Tensor key;                       // (B, T, KH, D)
    Tensor value;                     // (B, T, KH, Dv)
    std::int64_t first_position = 0;  // of the first key
    bool in_order = true;  // key i stands at first_position + i; otherwise every key may be seen by the one query
};

class KeyValueCache : public Cache {
   public:
    // Takes the newest tokens' keys and values and returns all that their queries may look at.
    // `keep_order` asks for keys in the order of their positions even where another order would be cheaper.
    virtual KeyValues append(const Tensor& key, const Tensor& value, bool keep_order) = 0;
};

// A tensor that grows along its second dimension (B, T, …) up to a capacity, without copying what is in it. On the host
// the capacity is address space only: memory follows the tokens.
class GrowingBuffer {
   public:
    explicit GrowingBuffer(std::int64_t capacity) : capacity_(capacity) {}

    Tensor append(const Tensor& rows);  // (B, T, …) → a view of everything so far
    std::int64_t length() const { return length_; }
    std::int64_t capacity() const { return capacity_; }
    std::int64_t bytes() const;
    void clear() { length_ = 0; }
    void reorder(std::span<const std::int64_t> rows);
    void truncate(std::int64_t tokens) { length_ = std::min(length_, tokens); }

   private:
    std::int64_t capacity_;
    std::int64_t length_ = 0;
    Tensor buffer_;  // made at the first append, when shape, dtype and device are known
    Tensor spare_;   // what reorder writes into; the two change places
};

}  // namespace tessera::nn
