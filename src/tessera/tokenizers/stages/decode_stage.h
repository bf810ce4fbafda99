// Building blocks of decoder.h's stages.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "tessera/tokenizers/stages/decoder.h"

namespace tessera::tokenizers {

using NextStage = std::unique_ptr<DecodeStage>;

// A stage that looks at whole tokens.
class TokenStage : public DecodeStage {
   public:
    explicit TokenStage(NextStage next) : next_(std::move(next)) {}
    void text(std::string_view part) override { token_ += part; }
    void end_token() override { token(std::exchange(token_, {})); }
    void finish() override {
        end();
        next_->finish();
    }

   protected:
    virtual void token(std::string text) = 0;
    virtual void end() {}
    void give(std::string_view text) {
        next_->text(text);
        next_->end_token();
    }

   private:
    NextStage next_;
    std::string token_;
};

// A decoder whose stages are made from what it was made from.
template <class Stage, class... Settings>
class DecoderOf : public Decoder {
   public:
    explicit DecoderOf(Settings... settings) : settings_(std::move(settings)...) {}
    std::unique_ptr<DecodeStage> start(NextStage next) const override {
        return std::apply(
            [&](const auto&... settings) { return std::make_unique<Stage>(std::move(next), settings...); }, settings_);
    }

   private:
    std::tuple<Settings...> settings_;
};

template <class Stage, class... Settings>
std::unique_ptr<Decoder> decoder_of(Settings... settings) {
    return std::make_unique<DecoderOf<Stage, Settings...>>(std::move(settings)...);
}

}  // namespace tessera::tokenizers
