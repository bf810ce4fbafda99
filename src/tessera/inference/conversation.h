// Answers in turn, where each prompt goes on from the one before: what the caches hold of it already is not read again.
#pragma once

#include "tessera/inference/generator.h"

namespace tessera::inference {

class Conversation {
   public:
    explicit Conversation(const models::Model& model) : model_(model) {}

    // One row. With anything but ids in it, the prompt is read from its beginning.
    Generated answer(const models::Batch& prompt, const GenerateOptions& options, const OnToken& on_token = {});
    std::int64_t reused() const { return reused_; }  // tokens of the last prompt that were in the caches
    void forget() { held_.clear(); }

   private:
    Tensor prefill(const models::Batch& prompt, const std::vector<std::int64_t>& ids, std::int64_t needed,
                   const GenerateOptions& options);

    const models::Model& model_;
    std::unique_ptr<models::DecodingSession> session_;
    std::int64_t capacity_ = 0, reused_ = 0;
    std::vector<std::int64_t> held_;  // the tokens that the caches hold
};

}  // namespace tessera::inference
