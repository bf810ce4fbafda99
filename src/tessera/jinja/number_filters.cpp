// Filters of numbers: int, float, abs, round, filesizeformat.
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "tessera/jinja/brief.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/number_format.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

// Without white space around it and underscores between digits, as Python reads numbers; nothing where they are wrong.
std::optional<std::string> digits_of(std::string_view text) {
    text = strip_right(strip_left(text));
    std::string kept;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            kept += text[i];
            continue;
        }
        const auto is_letter_or_digit = [&](std::size_t at) {
            return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
        };
        if (i == 0 || !is_letter_or_digit(i - 1) || !is_letter_or_digit(i + 1)) return {};
    }
    return kept;
}

std::optional<std::int64_t> whole_of(std::string_view text, std::int64_t base) {
    std::optional<std::string> digits = digits_of(text);
    if (!digits || digits->empty()) return {};
    std::string_view rest = *digits;
    const bool negative = rest[0] == '-';
    if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
    const auto has_prefix = [&](char letter) {
        return rest.size() > 2 && rest[0] == '0' && (rest[1] | 0x20) == letter;
    };
    for (const auto& [letter, of] : {std::pair{'x', 16}, std::pair{'o', 8}, std::pair{'b', 2}})
        if ((base == of || base == 0) && has_prefix(letter)) {
            rest.remove_prefix(2);
            base = of;
        }
    std::uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, base == 0 ? 10 : static_cast<int>(base));
    if (error == std::errc::invalid_argument || end != rest.data() + rest.size()) return {};
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    check(error == std::errc() && number <= most, "int: ", brief(text), " is past 64 bits");
    return negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
}

std::optional<double> float_of(std::string_view text) {
    const std::optional<std::string> digits = digits_of(text);
    if (!digits || digits->empty()) return {};
    std::string_view rest = *digits;
    if (rest[0] == '+') rest.remove_prefix(1);
    if (rest.empty() || rest[0] == '+') return {};
    double number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc::invalid_argument || end != rest.data() + rest.size() || rest.find('(') != rest.npos)
        return {};
    if (error == std::errc::result_out_of_range) return rest[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    return number;
}

std::optional<std::int64_t> truncated(double number) {
    if (!std::isfinite(number)) return {};
    check(std::abs(number) < 9e18, "int: ", number, " is past 64 bits");
    return static_cast<std::int64_t>(number);
}

Value filter_int(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "int", {"default", "base"});
    const std::int64_t base = given.whole(1, 10);
    check(base == 0 || (base >= 2 && base <= 36), "int: the base must be 0 or 2 to 36, found ", base);
    check_defined(input);
    std::optional<std::int64_t> number;
    if (input.is_whole()) number = input.whole();
    if (input.is_float()) number = truncated(input.number());
    if (input.is_text()) {
        runtime.walk(2 * input.text().size());
        number = whole_of(input.text(), base);
        if (!number)
            if (const std::optional<double> broken = float_of(input.text())) number = truncated(*broken);
    }
    return number ? Value(*number) : given.value(0, Value(std::int64_t{0}));
}

Value filter_float(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "float", {"default"});
    check_defined(input);
    std::optional<double> number;
    if (input.is_number()) number = input.number();
    if (input.is_text()) {
        runtime.walk(input.text().size());
        number = float_of(input.text());
    }
    return number ? Value(*number) : given.value(0, Value(0.0));
}

Value filter_abs(Runtime&, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "abs", {});
    check_defined(input);
    check(input.is_number(), "bad operand type for abs(): '", input.type_name(), "'");
    if (input.is_whole()) return input.whole() < 0 ? negate(input) : Value(input.whole());
    return Value(std::abs(input.number()));
}

// Python's round() looks at the exact decimal value, to even where it is exactly between; printf does, too.
double rounded(double number, std::int64_t precision) {
    if (!std::isfinite(number) || precision > 400) return number;
    if (precision < 0) {
        if (precision < -400) return std::copysign(0.0, number);
        const double scale = std::pow(10.0, static_cast<double>(-precision));
        return std::isfinite(scale) ? std::nearbyint(number / scale) * scale : std::copysign(0.0, number);
    }
    const std::string text = formatted_float(number, 'f', static_cast<int>(precision), false);
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return result;
}

Value filter_round(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "round", {"precision", "method"});
    check_defined(input);
    check(input.is_number(), "round: expected a number, found ", input.type_name());
    const std::int64_t precision = given.whole(0, 0);
    const std::string_view method = given.text(1, "common");
    check(method == "common" || method == "ceil" || method == "floor", "round: method must be common, ceil or floor");
    if (method == "common") {
        if (input.is_whole() && precision >= 0) return Value(input.whole());
        constexpr std::size_t most_digits = 710;  // before and after the point
        runtime.walk(most_digits);
        const double result = rounded(input.number(), precision);
        return input.is_whole() ? Value(*truncated(result)) : Value(result);
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = input.number() * scale;
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value filter_filesizeformat(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "filesizeformat", {"binary"});
    const bool binary = given.truth(0, false);
    const Value number = filter_float(runtime, input, {});
    const double bytes = number.number(), base = binary ? 1024 : 1000;
    if (bytes == 1) return runtime.text(std::string_view("1 Byte"));
    if (bytes < base) return runtime.text(text_of(truncated(bytes).value_or(0), " Bytes"));
    double unit = base;
    for (const char* prefix : {"k", "M", "G", "T", "P", "E", "Z", "Y"}) {
        unit *= base;
        if (bytes >= unit && *prefix != 'Y') continue;
        const std::string name = binary ? text_of(*prefix == 'k' ? "K" : prefix, "iB") : text_of(prefix, "B");
        return runtime.text(text_of(formatted_float(base * bytes / unit, 'f', 1, false), " ", name));
    }
    fail("filesizeformat: no unit");
}

}  // namespace

Filter find_number_filter(std::string_view name) {
    static const std::map<std::string_view, Filter> filters = {
        {"int", filter_int},
        {"float", filter_float},
        {"abs", filter_abs},
        {"round", filter_round},
        {"filesizeformat", filter_filesizeformat},
    };
    const auto found = filters.find(name);
    return found == filters.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
