#include "tokenizers/decoder.h"

#include <optional>
#include <tuple>
#include <utility>

#include "tokenizers/byte_level.h"
#include "tokenizers/byte_pieces.h"
#include "tokenizers/utf8.h"

namespace tessera::tokenizers {
namespace {

using Next = std::unique_ptr<DecodeStage>;

// A stage that looks at whole tokens.
class TokenStage : public DecodeStage {
   public:
    explicit TokenStage(Next next) : next_(std::move(next)) {}
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
    Next next_;
    std::string token_;
};

// A decoder whose stages are made from what it was made from.
template <class Stage, class... Settings>
class DecoderOf : public Decoder {
   public:
    explicit DecoderOf(Settings... settings) : settings_(std::move(settings)...) {}
    std::unique_ptr<DecodeStage> start(Next next) const override {
        return std::apply(
            [&](const auto&... settings) { return std::make_unique<Stage>(std::move(next), settings...); }, settings_);
    }

   private:
    std::tuple<Settings...> settings_;
};

// All tokens become one, whose end comes with the end of all.
class FuseStage : public DecodeStage {
   public:
    explicit FuseStage(Next next) : next_(std::move(next)) {}
    void text(std::string_view part) override { next_->text(part); }
    void end_token() override {}
    void finish() override {
        next_->end_token();
        next_->finish();
    }

   private:
    Next next_;
};

class ByteLevelStage : public DecodeStage {
   public:
    explicit ByteLevelStage(Next next) : next_(std::move(next)) {}
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
    Next next_;
    std::string token_, whole_;
    Utf8Repair repair_;
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
        if (is_valid_utf8(bytes_))
            give(bytes_);
        else
            for (std::size_t i = 0; i < bytes_.size(); ++i) give(replacement_character);
        bytes_.clear();
    }

    std::string bytes_;
};

class StripStage : public DecodeStage {
   public:
    StripStage(Next next, char32_t character, std::size_t start, std::size_t stop)
        : next_(std::move(next)), start_(start), stop_(stop) {
        append_character(character_, character);
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
        // What may still turn out to be the end stays here.
        held_ += part;
        std::size_t count = 0, keep = held_.size();
        while (count < stop_ && keep >= character_.size() &&
               std::string_view(held_).substr(0, keep).ends_with(character_)) {
            keep -= character_.size();
            ++count;
        }
        next_->text(std::string_view(held_).substr(0, keep));
        held_.erase(0, keep);
    }

    void end_token() override {
        held_.clear();
        begun_ = false;
        stripped_ = 0;
        next_->end_token();
    }
    void finish() override { next_->finish(); }

   private:
    Next next_;
    std::string character_, held_;
    std::size_t start_, stop_, stripped_ = 0;
    bool begun_ = false;
};

class ReplaceStage : public TokenStage {
   public:
    ReplaceStage(Next next, std::shared_ptr<const Splitter> places, std::string content)
        : TokenStage(std::move(next)), places_(std::move(places)), content_(std::move(content)) {}

   private:
    void token(std::string text) override {
        std::string out;
        std::size_t done = 0;
        places_->find(text, [&](std::size_t begin, std::size_t end) {
            out.append(text, done, begin - done).append(content_);
            done = end;
        });
        give(out.append(text, done));
    }

    std::shared_ptr<const Splitter> places_;
    std::string content_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    if (from.empty()) return;
    std::string out;
    std::size_t done = 0;
    for (std::size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size())
        out.append(text, done, at - done).append(to);
    if (done == 0) return;
    text = out.append(text, done);
}

// What a tokenizer that cuts at punctuation set apart, put together again as English is written.
void clean_up(std::string& text) {
    constexpr std::pair<std::string_view, std::string_view> rules[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (const auto& [from, to] : rules) replace_all(text, from, to);
}

class MetaspaceStage : public TokenStage {
   public:
    MetaspaceStage(Next next, char32_t replacement, PrependScheme scheme)
        : TokenStage(std::move(next)), scheme_(scheme) {
        append_character(replacement_, replacement);
    }

   private:
    void token(std::string text) override {
        replace_all(text, replacement_, first_ && scheme_ != PrependScheme::Never ? "" : " ");
        first_ = false;
        give(text);
    }

    std::string replacement_;
    PrependScheme scheme_;
    bool first_ = true;
};

class WordPieceStage : public TokenStage {
   public:
    WordPieceStage(Next next, std::string prefix, bool cleanup)
        : TokenStage(std::move(next)), prefix_(std::move(prefix)), cleanup_(cleanup) {}

   private:
    void token(std::string text) override {
        if (!first_) {
            if (text.starts_with(prefix_))
                text.erase(0, prefix_.size());
            else
                text.insert(text.begin(), ' ');
        }
        first_ = false;
        if (cleanup_) clean_up(text);
        give(text);
    }

    std::string prefix_;
    bool cleanup_, first_ = true;
};

class SuffixStage : public TokenStage {
   public:
    SuffixStage(Next next, std::string suffix) : TokenStage(std::move(next)), suffix_(std::move(suffix)) {}

   private:
    void token(std::string text) override {
        give_last(" ");
        last_ = std::move(text);
    }
    void end() override { give_last(""); }
    void give_last(std::string_view instead) {
        if (!last_) return;
        replace_all(*last_, suffix_, instead);
        give(*last_);
        last_.reset();
    }

    std::string suffix_;
    std::optional<std::string> last_;
};

class CtcStage : public TokenStage {
   public:
    CtcStage(Next next, std::string padding, std::string delimiter, bool cleanup)
        : TokenStage(std::move(next)),
          padding_(std::move(padding)),
          delimiter_(std::move(delimiter)),
          cleanup_(cleanup) {}

   private:
    void token(std::string text) override {
        if (text == last_) return;
        last_ = text;
        replace_all(text, padding_, "");
        if (cleanup_) {
            clean_up(text);
            replace_all(text, delimiter_, " ");
        }
        if (!text.empty()) give(text);
    }

    std::string padding_, delimiter_;
    bool cleanup_;
    std::optional<std::string> last_;
};

class JoinStage : public TokenStage {
   public:
    JoinStage(Next next, std::string between) : TokenStage(std::move(next)), between_(std::move(between)) {}

   private:
    void token(std::string text) override {
        if (!first_) text.insert(0, between_);
        first_ = false;
        give(text);
    }

    std::string between_;
    bool first_ = true;
};

class SequenceDecoder : public Decoder {
   public:
    explicit SequenceDecoder(std::vector<std::unique_ptr<Decoder>> parts) : parts_(std::move(parts)) {}
    std::unique_ptr<DecodeStage> start(Next next) const override {
        for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) next = (*part)->start(std::move(next));
        return next;
    }

   private:
    std::vector<std::unique_ptr<Decoder>> parts_;
};

template <class Stage, class... Settings>
std::unique_ptr<Decoder> decoder_of(Settings... settings) {
    return std::make_unique<DecoderOf<Stage, Settings...>>(std::move(settings)...);
}

}  // namespace

std::unique_ptr<Decoder> byte_level_decoder() { return decoder_of<ByteLevelStage>(); }
std::unique_ptr<Decoder> byte_fallback_decoder() { return decoder_of<ByteFallbackStage>(); }
std::unique_ptr<Decoder> fuse_decoder() { return decoder_of<FuseStage>(); }
std::unique_ptr<Decoder> strip_decoder(char32_t character, std::size_t start, std::size_t stop) {
    return decoder_of<StripStage>(character, start, stop);
}
std::unique_ptr<Decoder> replace_decoder(std::unique_ptr<Splitter> places, std::string content) {
    return decoder_of<ReplaceStage>(std::shared_ptr<const Splitter>(std::move(places)), std::move(content));
}
std::unique_ptr<Decoder> metaspace_decoder(char32_t replacement, PrependScheme scheme) {
    return decoder_of<MetaspaceStage>(replacement, scheme);
}
std::unique_ptr<Decoder> word_piece_decoder(std::string prefix, bool cleanup) {
    return decoder_of<WordPieceStage>(std::move(prefix), cleanup);
}
std::unique_ptr<Decoder> suffix_decoder(std::string suffix) { return decoder_of<SuffixStage>(std::move(suffix)); }
std::unique_ptr<Decoder> ctc_decoder(std::string padding, std::string delimiter, bool cleanup) {
    return decoder_of<CtcStage>(std::move(padding), std::move(delimiter), cleanup);
}
std::unique_ptr<Decoder> join_decoder(std::string between) { return decoder_of<JoinStage>(std::move(between)); }
std::unique_ptr<Decoder> sequence_decoder(std::vector<std::unique_ptr<Decoder>> parts) {
    return std::make_unique<SequenceDecoder>(std::move(parts));
}

}  // namespace tessera::tokenizers
