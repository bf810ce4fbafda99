#include "tessera/jinja/operators.h"

#include <cmath>

#include "tessera/jinja/print.h"
#include "tessera/jinja/printf_format.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

constexpr std::string_view symbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

[[noreturn]] void fail_overflow() { fail("an integer is past 64 bits"); }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    check(b != 0, "integer division or modulo by zero");
    if (b == -1) {
        std::int64_t result = 0;
        if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) fail_overflow();
        return result;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
    check(b != 0, "integer modulo by zero");
    if (b == -1) return 0;
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) fail_overflow();
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
    }
    return result;
}

double modulo(double a, double b) {
    check(b != 0, "float modulo by zero");
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    return rest == 0 ? std::copysign(0.0, b) : rest;
}

double floor_divide(double a, double b) {
    check(b != 0, "float floor division by zero");
    const double quotient = std::floor((a - modulo(a, b)) / b + 0.5);
    return quotient == 0 ? std::copysign(0.0, a / b) : quotient;
}

double power(double base, double exponent) {
    check(base != 0 || exponent >= 0, "0.0 cannot be raised to a negative power");
    check(base >= 0 || exponent == std::floor(exponent), "a negative number to a broken power is complex");
    const double result = std::pow(base, exponent);
    check(std::isfinite(result) || !std::isfinite(base) || !std::isfinite(exponent), "a power is out of range");
    return result;
}

Value of_whole(Operator op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool overflow = false;
    switch (op) {
        case Operator::Add: overflow = __builtin_add_overflow(a, b, &result); break;
        case Operator::Subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
        case Operator::Multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
        case Operator::Divide:
            check(b != 0, "division by zero");
            return Value(static_cast<double>(a) / static_cast<double>(b));
        case Operator::FloorDivide: result = floor_divide(a, b); break;
        case Operator::Modulo: result = modulo(a, b); break;
        case Operator::Power:
            if (b < 0) return Value(power(static_cast<double>(a), static_cast<double>(b)));
            result = power(a, b);
            break;
    }
    if (overflow) fail_overflow();
    return Value(result);
}

Value of_float(Operator op, double a, double b) {
    switch (op) {
        case Operator::Add: return Value(a + b);
        case Operator::Subtract: return Value(a - b);
        case Operator::Multiply: return Value(a * b);
        case Operator::Divide: check(b != 0, "float division by zero"); return Value(a / b);
        case Operator::FloorDivide: return Value(floor_divide(a, b));
        case Operator::Modulo: return Value(modulo(a, b));
        case Operator::Power: return Value(power(a, b));
    }
    fail("no such operator");
}

Value add_texts(Runtime& runtime, const Value& a, const Value& b) {
    const bool safe = a.is_safe() || b.is_safe();
    TextBuilder sum(runtime);
    for (const Value* part : {&a, &b})
        if (safe && !part->is_safe())
            sum.append(escape_html(runtime, part->text()));
        else
            sum.append(part->text());
    return sum.value(safe);
}

bool is_plain_list(const Value& value) {
    return value.is_sequence(SequenceKind::List) || value.is_sequence(SequenceKind::Tuple);
}

Value add_lists(Runtime& runtime, const Value& a, const Value& b) {
    const auto& left = a.sequence().items;
    const auto& right = b.sequence().items;
    runtime.charge_items(left.size() + right.size());
    std::vector<Value> items;
    items.reserve(left.size() + right.size());
    items.insert(items.end(), left.begin(), left.end());
    items.insert(items.end(), right.begin(), right.end());
    return runtime.sequence(a.sequence().kind, std::move(items));
}

std::size_t repeated(Runtime& runtime, std::size_t size, std::int64_t times) {
    std::int64_t total = 0;
    check(!__builtin_mul_overflow(static_cast<std::int64_t>(size), std::max<std::int64_t>(times, 0), &total),
          "a repetition is too long");
    runtime.charge(total);
    return static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
}

Value repeat(Runtime& runtime, const Value& value, std::int64_t times) {
    if (value.is_text()) {
        const std::size_t count = value.text().empty() ? 0 : repeated(runtime, value.text().size(), times);
        std::string text;
        text.reserve(count * value.text().size());
        for (std::size_t i = 0; i < count; ++i) text += value.text();
        return runtime.paid_text(std::move(text), value.is_safe());
    }
    const auto& items = value.sequence().items;
    const std::size_t count = items.empty() ? 0 : repeated(runtime, items.size() * sizeof(Value), times);
    std::vector<Value> all;
    all.reserve(count * items.size());
    for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), items.begin(), items.end());
    return runtime.sequence(value.sequence().kind, std::move(all));
}

}  // namespace

Value apply(Runtime& runtime, Operator op, const Value& a, const Value& b) {
    check_defined(a);
    check_defined(b);
    if (a.is_whole() && b.is_whole()) return of_whole(op, a.whole(), b.whole());
    if (a.is_number() && b.is_number()) return of_float(op, a.number(), b.number());
    if (op == Operator::Add) {
        if (a.is_text() && b.is_text()) return add_texts(runtime, a, b);
        if (is_plain_list(a) && is_plain_list(b) && a.sequence().kind == b.sequence().kind)
            return add_lists(runtime, a, b);
        check(!a.is_text(), "can only concatenate str (not \"", b.type_name(), "\") to str");
    }
    if (op == Operator::Multiply) {
        if ((a.is_text() || is_plain_list(a)) && b.is_whole()) return repeat(runtime, a, b.whole());
        if ((b.is_text() || is_plain_list(b)) && a.is_whole()) return repeat(runtime, b, a.whole());
    }
    if (op == Operator::Modulo && a.is_text())
        return runtime.paid_text(printf_format(runtime, a.text(), b), a.is_safe());
    fail("unsupported operand type(s) for ", symbols[static_cast<std::size_t>(op)], ": '", a.type_name(), "' and '",
         b.type_name(), "'");
}

Value negate(const Value& value) {
    check_defined(value);
    if (value.is_whole()) return of_whole(Operator::Subtract, 0, value.whole());
    check(value.is_float(), "bad operand type for unary -: '", value.type_name(), "'");
    return Value(-value.number());
}

Value posit(const Value& value) {
    check_defined(value);
    if (value.is_whole()) return Value(value.whole());
    check(value.is_float(), "bad operand type for unary +: '", value.type_name(), "'");
    return value;
}

std::string escape_html(Runtime& runtime, std::string_view text) {
    TextBuilder escaped(runtime);
    runtime.walk(text.size());
    for (const char c : text) switch (c) {
            case '&': escaped.append("&amp;"); break;
            case '<': escaped.append("&lt;"); break;
            case '>': escaped.append("&gt;"); break;
            case '\'': escaped.append("&#39;"); break;
            case '"': escaped.append("&#34;"); break;
            default: escaped.append(c);
        }
    return escaped.take();
}

}  // namespace tessera::jinja
