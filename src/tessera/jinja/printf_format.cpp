#include "tessera/jinja/printf_format.h"

#include <cmath>

#include "tessera/jinja/brief.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/number_format.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

struct Field {
    bool left = false, plus = false, space = false, zero = false, alternate = false;
    std::int64_t width = 0, precision = -1;
};

class PrintfFormatter {
   public:
    PrintfFormatter(Runtime& runtime, const std::string& pattern, const Value& values)
        : runtime_(runtime), pattern_(pattern), values_(values), out_(runtime) {}

    std::string run() {
        runtime_.walk(pattern_.size());
        while (at_ < pattern_.size()) {
            if (pattern_[at_] != '%')
                out_.append(pattern_[at_++]);
            else
                conversion();
        }
        const bool is_tuple = values_.is_sequence(SequenceKind::Tuple);
        const bool all_used = is_tuple ? used_ == values_.sequence().items.size() : used_ > 0;
        check(all_used || by_name_ || values_.is_dictionary() || (!is_tuple && values_.is_sequence()),
              "not all arguments converted during string formatting");
        return out_.take();
    }

   private:
    Value next() {
        if (values_.is_sequence(SequenceKind::Tuple)) {
            check(used_ < values_.sequence().items.size(), "not enough arguments for format string");
            return values_.sequence().items[used_++];
        }
        check(used_++ == 0, "not enough arguments for format string");
        return values_;
    }

    char take() {
        check(at_ < pattern_.size(), "incomplete format");
        return pattern_[at_++];
    }

    std::int64_t number_or_star(bool& left) {
        if (at_ < pattern_.size() && pattern_[at_] == '*') {
            ++at_;
            const Value value = next();
            check(value.is_whole(), "* wants int");
            const std::int64_t number = value.whole();
            check(number >= -most_format_width && number <= most_format_width, "a format's width is past ",
                  most_format_width);
            left = left || number < 0;
            return std::abs(number);
        }
        std::int64_t number = 0;
        while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
            number = number * 10 + (pattern_[at_++] - '0');
            check(number <= most_format_width, "a format's width is past ", most_format_width);
        }
        return number;
    }

    void conversion() {
        runtime_.step();
        ++at_;
        std::optional<Value> named;
        if (at_ < pattern_.size() && pattern_[at_] == '(') {
            const std::size_t end = pattern_.find(')', at_);
            check(end != std::string::npos, "incomplete format key");
            check(values_.is_dictionary(), "format requires a mapping");
            const std::string_view key = std::string_view(pattern_).substr(at_ + 1, end - at_ - 1);
            const Value* found = values_.dictionary().find(runtime_, key);
            check(found != nullptr, "the format's mapping has no key '", brief(key), "'");
            named = *found;
            by_name_ = true;
            at_ = end + 1;
        }
        Field field;
        for (bool flags = true; flags && at_ < pattern_.size();) switch (pattern_[at_]) {
                case '-': field.left = true, ++at_; break;
                case '+': field.plus = true, ++at_; break;
                case ' ': field.space = true, ++at_; break;
                case '0': field.zero = true, ++at_; break;
                case '#': field.alternate = true, ++at_; break;
                default: flags = false;
            }
        field.width = number_or_star(field.left);
        if (at_ < pattern_.size() && pattern_[at_] == '.') {
            ++at_;
            bool ignored = false;
            field.precision = number_or_star(ignored);
        }
        while (at_ < pattern_.size() && (pattern_[at_] == 'l' || pattern_[at_] == 'h' || pattern_[at_] == 'L')) ++at_;
        const char form = take();
        if (form == '%') {
            out_.append('%');
            return;
        }
        write(field, form, named ? *named : next());
    }

    void write(const Field& field, char form, const Value& value) {
        const bool is_text = form == 's' || form == 'r' || form == 'a' || form == 'c';
        const Value text = is_text ? characters(field, form, value) : runtime_.text(number(field, form, value));
        const char align = field.left ? '<' : field.zero && !is_text ? '=' : '>';
        append_padded(out_, text.text(), field.width, align, align == '=' ? "0" : " ");
    }

    Value characters(const Field& field, char form, const Value& value) {
        if (form == 'c') {
            if (value.is_text()) {
                const std::string_view character = value.text();
                check(!character.empty() && first_of(character, 1) == character, "%c requires int or char");
                return value;
            }
            check(value.is_whole() && value.whole() >= 0 && value.whole() < 0x110000, "%c requires int or char");
            std::string text;
            append_code_point(text, static_cast<char32_t>(value.whole()));
            return runtime_.text(std::move(text));
        }
        const Value text = form == 's' ? str(runtime_, value) : repr(runtime_, value);
        return field.precision < 0 ? text : runtime_.text(first_of(text.text(), field.precision));
    }

    std::string number(const Field& field, char form, const Value& value) {
        check_defined(value);
        std::string text;
        switch (form) {
            case 'd':
            case 'i':
            case 'u':
                check(value.is_number(), "%", std::string(1, form), " format: a real number is required, not ",
                      value.type_name());
                check(std::isfinite(value.number()) && std::abs(value.number()) < 9e18,
                      "%d: the number is past 64 bits");
                text = std::to_string(value.is_whole() ? value.whole() : static_cast<std::int64_t>(value.number()));
                break;
            case 'x':
            case 'X':
            case 'o':
                check(value.is_whole(), "%", std::string(1, form), " format: an integer is required, not ",
                      value.type_name());
                text = formatted_whole(value.whole(), form);
                if (field.alternate) text.insert(text[0] == '-' ? 1 : 0, std::string("0") + form);
                break;
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                check(value.is_number(), "must be real number, not ", value.type_name());
                runtime_.walk(static_cast<std::size_t>(std::max<std::int64_t>(field.precision, 0)));
                text = formatted_float(value.number(), form,
                                       field.precision < 0 ? 6 : static_cast<int>(field.precision), field.alternate);
                break;
            default: fail("unsupported format character '", std::string(1, form), "'");
        }
        if (text[0] != '-' && (field.plus || field.space)) text.insert(0, field.plus ? "+" : " ");
        return text;
    }

    Runtime& runtime_;
    const std::string& pattern_;
    const Value& values_;
    TextBuilder out_;
    std::size_t at_ = 0, used_ = 0;
    bool by_name_ = false;
};

}  // namespace

std::string printf_format(Runtime& runtime, const std::string& pattern, const Value& values) {
    return PrintfFormatter(runtime, pattern, values).run();
}

}  // namespace tessera::jinja
