// Every key and value since the beginning.
#pragma once

#include "tessera/nn/attention/cache.h"

namespace tessera::nn {

class FullCache : public KeyValueCache {
   public:
    explicit FullCache(std::int64_t capacity) : keys_(capacity), values_(capacity) {}

    KeyValues append(const Tensor& key, const Tensor& value, bool) override {
        return {keys_.append(key), values_.append(value)};
    }
    std::int64_t length() const override { return keys_.length(); }
    std::int64_t bytes() const override { return keys_.bytes() + values_.bytes(); }
    void clear() override {
        keys_.clear();
        values_.clear();
    }
    void reorder(std::span<const std::int64_t> rows) override {
        keys_.reorder(rows);
        values_.reorder(rows);
    }
    void truncate(std::int64_t tokens) override {
        keys_.truncate(tokens);
        values_.truncate(tokens);
    }

   private:
    GrowingBuffer keys_, values_;
};

}  // namespace tessera::nn
