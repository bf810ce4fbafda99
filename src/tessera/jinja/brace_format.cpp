#include "tessera/jinja/brace_format.h"

#include <cmath>

#include "tessera/jinja/access.h"
#include "tessera/jinja/brief.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/number_format.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Specification {
    std::string fill = " ";
    char align = 0, sign = '-', separator = 0, form = 0;
    bool alternate = false;
    std::int64_t width = 0, precision = -1;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
bool is_digit_at(const std::string& text, std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

std::int64_t number_at(const std::string& text, std::size_t& at) {
    std::int64_t number = 0;
    while (is_digit_at(text, at)) {
        number = number * 10 + (text[at++] - '0');
        check(number <= most_format_width, "a format's number is past ", most_format_width);
    }
    return number;
}

Specification specification_of(const std::string& text) {
    Specification result;
    std::size_t at = 0;
    const std::size_t first = text.empty() ? 0 : width_at(text, 0);
    if (first < text.size() && is_align(text[first])) {
        result.fill = text.substr(0, first);
        result.align = text[first];
        at = first + 1;
    } else if (!text.empty() && is_align(text[0])) {
        result.align = text[at++];
    }
    const auto is = [&](char c) { return at < text.size() && text[at] == c; };
    if (is('+') || is('-') || is(' ')) result.sign = text[at++];
    if (is('#')) result.alternate = true, ++at;
    if (is('0')) {
        ++at;
        if (!result.align) result.align = '=', result.fill = "0";
    }
    result.width = number_at(text, at);
    if (is(',') || is('_')) result.separator = text[at++];
    if (is('.')) {
        ++at;
        check(is_digit_at(text, at), "Format specifier missing precision");
        result.precision = number_at(text, at);
    }
    if (at < text.size()) result.form = text[at++];
    check(at == text.size(), "Invalid format specifier '", brief(text), "'");
    return result;
}

void group(std::string& text, char separator) {
    std::size_t end = text.find_first_of(".e");
    if (end == std::string::npos) end = text.size();
    const std::size_t begin = text[0] == '-' ? 1 : 0;
    for (std::size_t at = end; at > begin + 3;) text.insert(at -= 3, 1, separator);
}

std::string number_text(const Specification& spec, const Value& value) {
    char form = spec.form;
    std::string text;
    const bool wants_float = form == 'f' || form == 'F' || form == 'e' || form == 'E' || form == 'g' || form == 'G' ||
                             form == '%' || (form == 0 && value.is_float());
    if (wants_float) {
        const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
        if (form == 0 && spec.precision < 0)
            text = float_text(value.number());
        else if (form == '%')
            text = formatted_float(value.number() * 100, 'f', precision, false) + "%";
        else
            text = formatted_float(value.number(), form == 0 ? 'g' : form, precision, spec.alternate);
    } else {
        check(value.is_whole(), "Unknown format code '", std::string(1, form), "' for object of type 'float'");
        if (form == 0 || form == 'n') form = 'd';
        check(form == 'd' || form == 'x' || form == 'X' || form == 'o' || form == 'b', "Unknown format code '",
              std::string(1, form), "' for object of type 'int'");
        text = formatted_whole(value.whole(), form);
        if (spec.alternate && form != 'd') text.insert(text[0] == '-' ? 1 : 0, std::string("0") + form);
    }
    if (spec.separator) group(text, spec.separator);
    if (text[0] != '-' && spec.sign != '-') text.insert(0, 1, spec.sign);
    return text;
}

void append_formatted(TextBuilder& out, const Value& value, const std::string& text) {
    if (text.empty()) return append_str(out, value);
    check_defined(value);
    const Specification spec = specification_of(text);
    const bool is_number = value.is_integer() || value.is_float() || (value.is_boolean() && spec.form != 0);
    if (is_number) {
        out.runtime().walk(static_cast<std::size_t>(std::max<std::int64_t>(spec.precision, 0)));
        return append_padded(out, number_text(spec, value), spec.width, spec.align ? spec.align : '>', spec.fill);
    }
    check(value.is_text() || value.is_boolean(), "unsupported format string passed to ", value.type_name(),
          ".__format__");
    check(spec.form == 0 || spec.form == 's', "Unknown format code '", std::string(1, spec.form),
          "' for object of type 'str'");
    check(spec.align != '=' || spec.fill == "0", "'=' alignment not allowed in string format specifier");
    const Value whole = str(out.runtime(), value);
    const std::string_view shown =
        spec.precision < 0 ? std::string_view(whole.text()) : first_of(whole.text(), spec.precision);
    append_padded(out, shown, spec.width, spec.align && spec.align != '=' ? spec.align : '<', spec.fill);
}

class Formatter {
   public:
    Formatter(Runtime& runtime, const Arguments& arguments) : runtime_(runtime), arguments_(arguments) {}

    std::string run(const std::string& pattern, int depth = 0) {
        check(depth < 2, "Max string recursion exceeded");
        TextBuilder out(runtime_);
        runtime_.walk(pattern.size());
        for (std::size_t at = 0; at < pattern.size();) {
            const char c = pattern[at++];
            if (c != '{' && c != '}') {
                out.append(c);
            } else if (at < pattern.size() && pattern[at] == c) {
                out.append(c);
                ++at;
            } else {
                check(c == '{', "Single '}' encountered in format string");
                const std::size_t end = closing(pattern, at);
                runtime_.step();
                runtime_.walk(3 * (end - at));
                append_field(out, pattern.substr(at, end - at), depth);
                at = end + 1;
            }
        }
        return out.take();
    }

   private:
    static std::size_t closing(const std::string& pattern, std::size_t at) {
        int open = 1;
        for (; at < pattern.size(); ++at) {
            open += pattern[at] == '{' ? 1 : pattern[at] == '}' ? -1 : 0;
            if (open == 0) return at;
        }
        fail("expected '}' before end of string");
    }

    void append_field(TextBuilder& out, const std::string& text, int depth) {
        const std::size_t end = std::min(text.find_first_of("!:"), text.size());
        Value value = named(text.substr(0, end));
        std::size_t at = end;
        if (at < text.size() && text[at] == '!') {
            check(at + 1 < text.size() && (text[at + 1] == 'r' || text[at + 1] == 's' || text[at + 1] == 'a'),
                  "a conversion is one of !r, !s and !a");
            value = text[at + 1] == 's' ? str(runtime_, value) : repr(runtime_, value);
            at += 2;
        }
        check(at == text.size() || text[at] == ':', "expected ':' after conversion specifier");
        std::string spec = at < text.size() ? text.substr(at + 1) : std::string();
        if (spec.find('{') != std::string::npos) spec = run(spec, depth + 1);
        append_formatted(out, value, spec);
    }

    // first.attribute[item]…
    Value named(const std::string& text) {
        std::size_t at = std::min(text.find_first_of(".["), text.size());
        Value value = first(text.substr(0, at));
        while (at < text.size()) {
            if (text[at] == '.') {
                const std::size_t end = std::min(text.find_first_of(".[", at + 1), text.size());
                value = attribute(runtime_, value, text.substr(at + 1, end - at - 1));
                at = end;
            } else {
                const std::size_t end = text.find(']', at);
                check(text[at] == '[' && end != std::string::npos, "Missing ']' in format string");
                const std::string key = text.substr(at + 1, end - at - 1);
                std::size_t digits = 0;
                const std::int64_t number = number_at(key, digits);
                value = item(runtime_, value, !key.empty() && digits == key.size() ? Value(number) : Value(key));
                at = end + 1;
            }
            check_defined(value);
        }
        return value;
    }

    Value first(const std::string& name) {
        std::size_t digits = 0;
        std::int64_t number = number_at(name, digits);
        if (digits == name.size()) {
            check(countable_ < 0 || name.empty() == (countable_ > 0),
                  "cannot switch between manual field specification and automatic field numbering");
            if (name.empty()) number = next_++;
            countable_ = name.empty();
            check(number < static_cast<std::int64_t>(arguments_.positional.size()), "Replacement index ", number,
                  " out of range for positional args tuple");
            return arguments_.positional[static_cast<std::size_t>(number)];
        }
        runtime_.scan(16 * arguments_.named.size());
        for (const auto& [key, value] : arguments_.named)
            if (key == name) return value;
        fail("the format names '", brief(name), "', which is not given");
    }

    Runtime& runtime_;
    const Arguments& arguments_;
    std::int64_t next_ = 0;
    int countable_ = -1;  // not known yet, explicit numbers, or counted
};

}  // namespace

std::string brace_format(Runtime& runtime, const std::string& pattern, const Arguments& arguments) {
    return Formatter(runtime, arguments).run(pattern);
}

}  // namespace tessera::jinja
