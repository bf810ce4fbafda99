#include "tokenizers/jinja/print.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "tokenizers/jinja/code_points.h"
#include "tokenizers/jinja/loop.h"
#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {
namespace {

void append_repr(Runtime& runtime, std::string& out, const Value& value);

void append_escape(std::string& out, char32_t point) {
    char escape[16];
    if (point < 0x100)
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(point));
    else if (point < 0x10000)
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(point));
    else
        std::snprintf(escape, sizeof escape, "\\U%08x", static_cast<unsigned>(point));
    out += escape;
}

void append_quoted(std::string& out, std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const bool has_double = text.find('"') != std::string_view::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    out += quote;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        if (point == static_cast<char32_t>(quote) || point == '\\')
            (out += '\\') += static_cast<char>(point);
        else if (point == '\n')
            out += "\\n";
        else if (point == '\r')
            out += "\\r";
        else if (point == '\t')
            out += "\\t";
        else if (is_printable(point))
            out += text.substr(at, width_at(text, at));
        else
            append_escape(out, point < 0x110000 ? point : point - 0x110000);
    }
    out += quote;
}

void append_items(Runtime& runtime, std::string& out, const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        append_repr(runtime, out, items[i]);
    }
}

void append_sequence(Runtime& runtime, std::string& out, const Value& value) {
    const Sequence& sequence = value.sequence();
    switch (sequence.kind) {
        case SequenceKind::Range: out += sequence.shown; return;
        case SequenceKind::Iterator: fail("an iterator cannot be printed; make it a list with |list");
        case SequenceKind::List: out += '['; break;
        case SequenceKind::Tuple: out += '('; break;
        default: ((out += value.type_name()) += "(["); break;
    }
    append_items(runtime, out, sequence.items);
    if (sequence.kind == SequenceKind::Tuple && sequence.items.size() == 1) out += ',';
    out += sequence.kind == SequenceKind::List ? "]" : sequence.kind == SequenceKind::Tuple ? ")" : "])";
}

void append_dictionary(Runtime& runtime, std::string& out, const Dictionary& dictionary) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : dictionary.entries()) {
        if (!first) out += ", ";
        first = false;
        append_repr(runtime, out, key);
        out += ": ";
        append_repr(runtime, out, item);
    }
    out += '}';
}

void append_repr(Runtime& runtime, std::string& out, const Value& value) {
    const Level level(runtime);
    const std::size_t before = out.size();
    if (value.is_text()) {
        if (value.is_safe()) out += "Markup(";
        append_quoted(out, value.text());
        if (value.is_safe()) out += ')';
    } else if (value.is_sequence()) {
        append_sequence(runtime, out, value);
    } else if (value.is_dictionary()) {
        append_dictionary(runtime, out, value.dictionary());
    } else if (value.is_namespace()) {
        out += "<Namespace ";
        append_dictionary(runtime, out, value.space().members);
        out += '>';
    } else if (value.is_loop()) {
        out += text_of("<LoopContext ", value.loop()->index0 + 1, "/", value.loop()->count(), ">");
    } else if (value.is_callable()) {
        fail("the function '", value.callable()->name, "' cannot be printed; is a call's () missing?");
    } else if (value.is_boolean()) {
        out += value.boolean() ? "True" : "False";
    } else if (value.is_integer()) {
        out += std::to_string(value.whole());
    } else if (value.is_float()) {
        out += float_text(value.number());
    } else {
        out += value.is_none() ? "None" : "Undefined";
    }
    // What a container adds beyond its items is small.
    if (!value.is_sequence() && !value.is_dictionary()) runtime.charge(static_cast<std::int64_t>(out.size() - before));
    runtime.step();
}

}  // namespace

std::string str(Runtime& runtime, const Value& value) {
    if (value.is_text()) return value.text();
    if (value.is_undefined()) return {};
    return repr(runtime, value);
}

std::string repr(Runtime& runtime, const Value& value) {
    std::string out;
    append_repr(runtime, out, value);
    return out;
}

std::string float_text(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
    const std::string_view scientific(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t e = scientific.find('e');
    int exponent = 0;
    const std::size_t digits_of_exponent = e + (scientific[e + 1] == '+' ? 2 : 1);
    std::from_chars(buffer + digits_of_exponent, end, exponent);
    if (exponent < -4 || exponent >= 16) return std::string(scientific);
    const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
    std::string fixed(buffer, fixed_end);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
}

}  // namespace tessera::tokenizers::jinja
