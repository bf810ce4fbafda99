// Decoders for tokens that are words or parts of words: where the spaces go.
#include <optional>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/decode_stage.h"

namespace tessera::tokenizers {
namespace {

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
    MetaspaceStage(NextStage next, char32_t replacement, PrependScheme scheme)
        : TokenStage(std::move(next)), scheme_(scheme) {
        text::append_character(replacement_, replacement);
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
    WordPieceStage(NextStage next, std::string prefix, bool cleanup)
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
    SuffixStage(NextStage next, std::string suffix) : TokenStage(std::move(next)), suffix_(std::move(suffix)) {}

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
    CtcStage(NextStage next, std::string padding, std::string delimiter, bool cleanup)
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
    JoinStage(NextStage next, std::string between) : TokenStage(std::move(next)), between_(std::move(between)) {}

   private:
    void token(std::string text) override {
        if (!first_) text.insert(0, between_);
        first_ = false;
        give(text);
    }

    std::string between_;
    bool first_ = true;
};

}  // namespace

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

}  // namespace tessera::tokenizers
