#include "tessera/tokenizers/stages/normalizer.h"

#include <algorithm>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

template <class Use>
void for_each_character(std::string_view text, Use use) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = text::character_length(text[i]);
        use(text::character_at(text.data() + i), text.substr(i, length));
        i += length;
    }
}

template <class Drop>
std::string without(std::string_view text, Drop drop) {
    std::string out;
    out.reserve(text.size());
    for_each_character(text, [&](char32_t c, std::string_view bytes) {
        if (!drop(c)) out += bytes;
    });
    return out;
}

class FormNormalizer : public Normalizer {
   public:
    explicit FormNormalizer(text::NormalForm form) : form_(form) {}
    std::string normalize(std::string_view text) const override { return text::normal_form(text, form_); }
    std::uint64_t steps_per_byte() const override { return 24; }
    bool leaves(std::string_view text) const override { return text::is_ascii(text); }

   private:
    text::NormalForm form_;
};

class LowerCaseNormalizer : public Normalizer {
   public:
    std::string normalize(std::string_view text) const override { return text::lower_case(text); }
};

class AccentsNormalizer : public Normalizer {
   public:
    std::string normalize(std::string_view text) const override { return without(text, text::is_mark); }
    bool leaves(std::string_view text) const override { return text::is_ascii(text); }
};

class StripNormalizer : public Normalizer {
   public:
    StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
    std::string normalize(std::string_view text) const override {
        while (left_ && !text.empty() && text::is_space(text::character_at(text.data())))
            text.remove_prefix(text::character_length(text[0]));
        while (right_ && !text.empty()) {
            const std::size_t last = text::character_before(text, text.size());
            if (!text::is_space(text::character_at(text.data() + last))) break;
            text = text.substr(0, last);
        }
        return std::string(text);
    }

   private:
    bool left_, right_;
};

class PrependNormalizer : public Normalizer {
   public:
    PrependNormalizer(std::string prefix, std::string named) : prefix_(std::move(prefix)), named_(std::move(named)) {}
    std::string normalize(std::string_view text) const override {
        std::string out;
        if (text.empty()) return out;
        const WorkScope work(text.size());
        work->check_length(prefix_.size() + text.size(), named_);
        work->grow(0, prefix_.size(), named_);
        out.reserve(prefix_.size() + text.size());
        out += prefix_;
        return out += text;
    }

   private:
    std::string prefix_, named_;
};

class ReplaceNormalizer : public Normalizer {
   public:
    ReplaceNormalizer(std::unique_ptr<Splitter> places, std::string content, std::string named)
        : places_(std::move(places)), content_(std::move(content)), named_(std::move(named)) {}
    std::string normalize(std::string_view text) const override {
        const WorkScope work(text.size());
        std::string out;
        out.reserve(text.size() + text.size() / 2);
        std::size_t done = 0;
        places_->find(text, [&](std::size_t begin, std::size_t end) {
            work->check_length(out.size() + begin - done + content_.size(), named_);
            work->charge(content_.size(), named_);
            out += text.substr(done, begin - done);
            out += content_;
            done = end;
        });
        out += text.substr(done);
        work->grow(text.size(), out.size(), named_);
        return out;
    }

   private:
    std::unique_ptr<Splitter> places_;
    std::string content_, named_;
};

class ControlNormalizer : public Normalizer {
   public:
    std::string normalize(std::string_view text) const override {
        std::string out;
        out.reserve(text.size());
        for_each_character(text, [&](char32_t c, std::string_view bytes) {
            if (becomes_space(c))
                out += ' ';
            else if (!is_dropped(c))
                out += bytes;
        });
        return out;
    }

   private:
    static bool is_dropped(char32_t c) {
        return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    }
    static bool becomes_space(char32_t c) {
        return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
               c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    }
};

class ByteLevelNormalizer : public Normalizer {
   public:
    std::string normalize(std::string_view text) const override { return to_byte_characters(text); }
};

class CleanTextNormalizer : public Normalizer {
   public:
    explicit CleanTextNormalizer(const CleanTextOptions& options) : options_(options) {}
    std::uint64_t steps_per_byte() const override { return 16; }
    std::string normalize(std::string_view text) const override {
        std::string out(text);
        if (options_.clean) out = cleaned(out);
        if (options_.separate_ideographs) out = separated(out);
        if (options_.strip_accents)
            out = without(text::normal_form(out, text::NormalForm::D), text::is_nonspacing_mark);
        if (options_.lower_case) out = text::lower_case(out);
        return out;
    }

   private:
    static std::string cleaned(std::string_view text) {
        std::string out;
        out.reserve(text.size());
        for_each_character(text, [&](char32_t c, std::string_view bytes) {
            const bool line = c == '\t' || c == '\n' || c == '\r';
            if (c == 0 || c == 0xFFFD || (!line && text::is_control(c))) return;
            if (text::is_space(c))
                out += ' ';
            else
                out += bytes;
        });
        return out;
    }

    static std::string separated(std::string_view text) {
        std::string out;
        out.reserve(text.size());
        for_each_character(text, [&](char32_t c, std::string_view bytes) {
            const bool apart = text::is_ideograph(c);
            if (apart) out += ' ';
            out += bytes;
            if (apart) out += ' ';
        });
        return out;
    }

    CleanTextOptions options_;
};

class SequenceNormalizer : public Normalizer {
   public:
    SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> parts, std::string named)
        : parts_(std::move(parts)), named_(std::move(named)) {}
    std::string normalize(std::string_view text) const override {
        const WorkScope work(text.size());
        std::string out(text);
        for (const auto& part : parts_) {
            const std::size_t before = out.size();
            const bool leaves = part->leaves(out);
            work->charge(leaves ? before : part->steps_per_byte() * before, named_);
            if (!leaves) out = part->normalize(out);
            work->grow(before, out.size(), named_);
        }
        return out;
    }
    bool leaves(std::string_view text) const override {
        return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part->leaves(text); });
    }

   private:
    std::vector<std::unique_ptr<Normalizer>> parts_;
    std::string named_;
};

}  // namespace

std::unique_ptr<Normalizer> form_normalizer(text::NormalForm form) { return std::make_unique<FormNormalizer>(form); }
std::unique_ptr<Normalizer> lower_case_normalizer() { return std::make_unique<LowerCaseNormalizer>(); }
std::unique_ptr<Normalizer> accents_normalizer() { return std::make_unique<AccentsNormalizer>(); }
std::unique_ptr<Normalizer> strip_normalizer(bool left, bool right) {
    return std::make_unique<StripNormalizer>(left, right);
}
std::unique_ptr<Normalizer> prepend_normalizer(std::string prefix, std::string named) {
    return std::make_unique<PrependNormalizer>(std::move(prefix), std::move(named));
}
std::unique_ptr<Normalizer> replace_normalizer(std::unique_ptr<Splitter> places, std::string content,
                                               std::string named) {
    return std::make_unique<ReplaceNormalizer>(std::move(places), std::move(content), std::move(named));
}
std::unique_ptr<Normalizer> control_normalizer() { return std::make_unique<ControlNormalizer>(); }
std::unique_ptr<Normalizer> byte_level_normalizer() { return std::make_unique<ByteLevelNormalizer>(); }
std::unique_ptr<Normalizer> clean_text_normalizer(const CleanTextOptions& options) {
    return std::make_unique<CleanTextNormalizer>(options);
}
std::unique_ptr<Normalizer> sequence_normalizer(std::vector<std::unique_ptr<Normalizer>> parts, std::string named) {
    return std::make_unique<SequenceNormalizer>(std::move(parts), std::move(named));
}

}  // namespace tessera::tokenizers
