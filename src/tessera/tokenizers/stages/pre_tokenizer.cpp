#include "tessera/tokenizers/stages/pre_tokenizer.h"

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

// Takes parts of a text from left to right, found or not, and gives pieces by the behaviour.
class Cutter {
   public:
    Cutter(Piece whole, SplitBehaviour behaviour, GivePiece give) : whole_(whole), behaviour_(behaviour), give_(give) {}

    void part(std::size_t begin, std::size_t end, bool found) {
        if (begin == end) return;
        switch (behaviour_) {
            case SplitBehaviour::Removed:
                if (!found) give(begin, end);
                return;
            case SplitBehaviour::Isolated: give(begin, end); return;
            case SplitBehaviour::Contiguous: hold(begin, end, held_ && found == found_); break;
            case SplitBehaviour::MergedWithPrevious: hold(begin, end, held_ && found && !found_); break;
            case SplitBehaviour::MergedWithNext: hold(begin, end, held_ && !found && found_); break;
        }
        found_ = found;
    }

    void finish() {
        if (held_) give(begin_, end_);
    }

   private:
    void hold(std::size_t begin, std::size_t end, bool join) {
        if (!join) {
            finish();
            begin_ = begin;
        }
        end_ = end;
        held_ = true;
    }

    void give(std::size_t begin, std::size_t end) {
        give_({whole_.text.substr(begin, end - begin), whole_.at_start && begin == 0});
    }

    Piece whole_;
    SplitBehaviour behaviour_;
    GivePiece give_;
    std::size_t begin_ = 0, end_ = 0;
    bool held_ = false, found_ = false;
};

class SplitPreTokenizer : public PreTokenizer {
   public:
    SplitPreTokenizer(std::unique_ptr<Splitter> splitter, SplitBehaviour behaviour, bool invert)
        : splitter_(std::move(splitter)), behaviour_(behaviour), invert_(invert) {}

    void split(Piece piece, GivePiece give) const override {
        if (behaviour_ == SplitBehaviour::Isolated) return isolate(piece, give);
        Cutter cutter(piece, behaviour_, give);
        std::size_t done = 0;
        splitter_->find(piece.text, [&](std::size_t begin, std::size_t end) {
            cutter.part(done, begin, invert_);
            cutter.part(begin, end, !invert_);
            done = end;
        });
        cutter.part(done, piece.text.size(), invert_);
        cutter.finish();
    }

   private:
    // The most frequent behaviour, without anything to keep.
    void isolate(Piece piece, GivePiece give) const {
        std::size_t done = 0;
        splitter_->find(piece.text, [&](std::size_t begin, std::size_t end) {
            if (begin > done) give({piece.text.substr(done, begin - done), piece.at_start && done == 0});
            give({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
            done = end;
        });
        if (done < piece.text.size()) give({piece.text.substr(done), piece.at_start && done == 0});
    }

    std::unique_ptr<Splitter> splitter_;
    SplitBehaviour behaviour_;
    bool invert_;
};

class MetaspacePreTokenizer : public PreTokenizer {
   public:
    MetaspacePreTokenizer(std::string replacement, PrependScheme scheme, bool split, std::string named)
        : replacement_(std::move(replacement)), scheme_(scheme), named_(std::move(named)) {
        if (split) split_ = split_pre_tokenizer(literal_splitter(replacement_), SplitBehaviour::MergedWithNext);
    }

    void split(Piece piece, GivePiece give) const override {
        const bool has_prefix = piece.text.starts_with(' ') || piece.text.starts_with(replacement_);
        std::string text;
        text.reserve(piece.text.size() + 16);
        if (!has_prefix && (scheme_ == PrependScheme::Always || (scheme_ == PrependScheme::First && piece.at_start)))
            text += replacement_;
        for (const char c : piece.text)
            if (c == ' ')
                text += replacement_;
            else
                text += c;
        const WorkScope work(piece.text.size());
        const HeldText held(*work, text.size(), named_);
        if (split_)
            split_->split({text, piece.at_start}, give);
        else
            give({text, piece.at_start});
    }

   private:
    std::string replacement_;
    PrependScheme scheme_;
    std::string named_;
    std::unique_ptr<PreTokenizer> split_;
};

class ByteLevelPreTokenizer : public PreTokenizer {
   public:
    explicit ByteLevelPreTokenizer(const ByteLevelOptions& options) : options_(options) {
        if (options.use_regex)
            words_ = split_pre_tokenizer(scanner_splitter(byte_level_pattern), SplitBehaviour::Isolated);
    }

    void split(Piece piece, GivePiece give) const override {
        if (!options_.add_prefix_space || piece.text.starts_with(' ')) return split_words(piece, give);
        std::string with_space;
        with_space.reserve(piece.text.size() + 1);
        with_space += ' ';
        with_space += piece.text;
        const WorkScope work(piece.text.size());
        const HeldText held(*work, with_space.size(), options_.named);
        split_words({with_space, piece.at_start}, give);
    }

   private:
    void split_words(Piece piece, GivePiece give) const {
        const auto mapped = [&](Piece word) {
            const std::string characters = to_byte_characters(word.text);
            const WorkScope work(word.text.size());
            const HeldText held(*work, characters.size(), options_.named);
            give({characters, word.at_start});
        };
        if (words_)
            options_.raw ? words_->split(piece, give) : words_->split(piece, mapped);
        else
            options_.raw ? give(piece) : mapped(piece);
    }

    ByteLevelOptions options_;
    std::unique_ptr<PreTokenizer> words_;
};

class FixedLengthPreTokenizer : public PreTokenizer {
   public:
    explicit FixedLengthPreTokenizer(std::size_t characters) : characters_(characters) {}

    void split(Piece piece, GivePiece give) const override {
        std::size_t begin = 0, count = 0;
        for (std::size_t at = 0; at < piece.text.size();) {
            at += text::character_length(piece.text[at]);
            if (++count < characters_ && at < piece.text.size()) continue;
            give({piece.text.substr(begin, at - begin), piece.at_start && begin == 0});
            begin = at;
            count = 0;
        }
    }

   private:
    std::size_t characters_;
};

class SequencePreTokenizer : public PreTokenizer {
   public:
    SequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts, std::string named)
        : parts_(std::move(parts)), named_(std::move(named)) {}

    void split(Piece piece, GivePiece give) const override {
        const WorkScope work(piece.text.size());
        from(0, piece, give, *work);
    }

   private:
    void from(std::size_t part, Piece piece, GivePiece give, TextWork& work) const {
        if (part == parts_.size()) return give(piece);
        const StagePass pass(work, piece.text.size(), named_);
        parts_[part]->split(piece, [&](Piece next) { from(part + 1, next, give, work); });
    }

    std::vector<std::unique_ptr<PreTokenizer>> parts_;
    std::string named_;
};

}  // namespace

std::unique_ptr<PreTokenizer> split_pre_tokenizer(std::unique_ptr<Splitter> splitter, SplitBehaviour behaviour,
                                                  bool invert) {
    return std::make_unique<SplitPreTokenizer>(std::move(splitter), behaviour, invert);
}

std::unique_ptr<PreTokenizer> metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme, bool split,
                                                      std::string named) {
    return std::make_unique<MetaspacePreTokenizer>(std::move(replacement), scheme, split, std::move(named));
}

std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(const ByteLevelOptions& options) {
    return std::make_unique<ByteLevelPreTokenizer>(options);
}

std::unique_ptr<PreTokenizer> fixed_length_pre_tokenizer(std::size_t characters) {
    return std::make_unique<FixedLengthPreTokenizer>(characters);
}

std::unique_ptr<PreTokenizer> sequence_pre_tokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts,
                                                     std::string named) {
    return std::make_unique<SequencePreTokenizer>(std::move(parts), std::move(named));
}

}  // namespace tessera::tokenizers
