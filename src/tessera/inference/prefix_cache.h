// The caches of the last text: what the next prompt has in common with its beginning is not read again.
#pragma once

#include "tessera/inference/token_loop.h"

namespace tessera::inference {

class PrefixCache {
   public:
    explicit PrefixCache(const models::Model& model, Device device = cpu) : model_(model), device_(device) {}

    // As generate() does for these tokens alone.
    Generated generate(const std::vector<std::int64_t>& ids, const GenerateOptions& options,
                       const OnToken& on_token = {});
    std::int64_t reused() const { return reused_; }  // tokens of the last prompt that were in the caches
    void clear();

   private:
    Tensor prefill(const std::vector<std::int64_t>& ids, std::int64_t needed, const GenerateOptions& options);
    Tensor read_on(const std::vector<std::int64_t>& ids, const GenerateOptions& options);

    const models::Model& model_;
    Device device_;
    std::unique_ptr<models::DecodingSession> session_;
    std::int64_t capacity_ = 0, reused_ = 0;
    std::vector<std::int64_t> held_;  // the tokens that the caches hold
};

}  // namespace tessera::inference
