#include "tessera/tokenizers/stages/decoder.h"

#include <optional>
#include <tuple>
#include <utility>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/stages/decode_stage.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

// All tokens become one, whose end comes with the end of all.
class FuseStage : public DecodeStage {
   public:
    explicit FuseStage(NextStage next) : next_(std::move(next)) {}
    void text(std::string_view part) override { next_->text(part); }
    void end_token() override {}
    void finish() override {
        next_->end_token();
        next_->finish();
    }

   private:
    NextStage next_;
};

class ByteLevelStage : public DecodeStage {
   public:
    explicit ByteLevelStage(NextStage next) : next_(std::move(next)) {}
    void text(std::string_view part) override { token_ += part; }
    void end_token() override {
        const std::optional<std::string> bytes = from_byte_characters(token_);
        repair_.add(bytes ? *bytes : token_, whole_);
        token_.clear();
        next_->text(whole_);
        whole_.clear();
    }
    void finish() override {
        repair_.finish(whole_);
        next_->text(whole_);
        next_->end_token();
        next_->finish();
    }

   private:
    NextStage next_;
    std::string token_, whole_;
    text::Utf8Repair repair_;
};

class ByteFallbackStage : public TokenStage {
   public:
    using TokenStage::TokenStage;

   private:
    void token(std::string text) override {
        if (const std::optional<char> byte = byte_of_piece(text)) {
            bytes_ += *byte;
            return;
        }
        end();
        give(text);
    }

    // The bytes so far, as text if they are text.
    void end() override {
        if (bytes_.empty()) return;
        if (text::is_valid_utf8(bytes_))
            give(bytes_);
        else
            for (std::size_t i = 0; i < bytes_.size(); ++i) give(text::replacement_character);
        bytes_.clear();
    }

    std::string bytes_;
};

class StripStage : public DecodeStage {
   public:
    StripStage(NextStage next, char32_t character, std::size_t start, std::size_t stop)
        : next_(std::move(next)), start_(start), stop_(stop) {
        text::append_character(character_, character);
    }

    void text(std::string_view part) override {
        while (!begun_ && !part.empty()) {
            if (stripped_ < start_ && part.starts_with(character_)) {
                part.remove_prefix(character_.size());
                ++stripped_;
            } else {
                begun_ = true;
            }
        }
        if (part.empty()) return;
        if (stop_ == 0) return next_->text(part);
        // What may still turn out to be the end stays here: a count of the character. Parts are whole characters.
        std::size_t count = 0, keep = part.size();
        while (keep >= character_.size() && part.substr(0, keep).ends_with(character_)) {
            keep -= character_.size();
            ++count;
        }
        if (keep > 0) give_held(held_);
        next_->text(part.substr(0, keep));
        held_ += count;
        if (held_ > stop_) give_held(held_ - stop_);
    }

    void end_token() override {
        held_ = 0;
        begun_ = false;
        stripped_ = 0;
        next_->end_token();
    }
    void finish() override { next_->finish(); }

   private:
    void give_held(std::size_t count) {
        for (held_ -= count; count > 0; --count) next_->text(character_);
    }

    NextStage next_;
    std::string character_;
    std::size_t start_, stop_, stripped_ = 0, held_ = 0;
    bool begun_ = false;
};

class ReplaceStage : public TokenStage {
   public:
    ReplaceStage(NextStage next, std::shared_ptr<const Splitter> places, std::string content, std::string named)
        : TokenStage(std::move(next)),
          places_(std::move(places)),
          content_(std::move(content)),
          named_(std::move(named)) {}

   private:
    void token(std::string text) override {
        const WorkScope work(text.size());
        std::string out;
        std::size_t done = 0;
        places_->find(text, [&](std::size_t begin, std::size_t end) {
            work->check_length(out.size() + begin - done + content_.size(), named_);
            work->charge(begin - done + content_.size(), named_);
            out.append(text, done, begin - done).append(content_);
            done = end;
        });
        out.append(text, done);
        work->grow(text.size(), out.size(), named_);
        give(out);
    }

    std::shared_ptr<const Splitter> places_;
    std::string content_, named_;
};

class SequenceDecoder : public Decoder {
   public:
    explicit SequenceDecoder(std::vector<std::unique_ptr<Decoder>> parts) : parts_(std::move(parts)) {}
    std::unique_ptr<DecodeStage> start(NextStage next) const override {
        for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) next = (*part)->start(std::move(next));
        return next;
    }

   private:
    std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

std::unique_ptr<Decoder> byte_level_decoder() { return decoder_of<ByteLevelStage>(); }
std::unique_ptr<Decoder> byte_fallback_decoder() { return decoder_of<ByteFallbackStage>(); }
std::unique_ptr<Decoder> fuse_decoder() { return decoder_of<FuseStage>(); }
std::unique_ptr<Decoder> strip_decoder(char32_t character, std::size_t start, std::size_t stop) {
    return decoder_of<StripStage>(character, start, stop);
}
std::unique_ptr<Decoder> replace_decoder(std::unique_ptr<Splitter> places, std::string content, std::string named) {
    return decoder_of<ReplaceStage>(std::shared_ptr<const Splitter>(std::move(places)), std::move(content),
                                    std::move(named));
}
std::unique_ptr<Decoder> sequence_decoder(std::vector<std::unique_ptr<Decoder>> parts) {
    return std::make_unique<SequenceDecoder>(std::move(parts));
}

}  // namespace tessera::tokenizers
