#include "tessera/jinja/print.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tessera/jinja/code_points.h"
#include "tessera/jinja/loop.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

void append_repr(TextBuilder& out, const Value& value);

void append_escape(TextBuilder& out, char32_t point) {
    const auto code = static_cast<std::uint32_t>(point);
    out.append(code < 0x100     ? fmt::format("\\x{:02x}", code)
               : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                : fmt::format("\\U{:08x}", code));
}

void append_quoted(TextBuilder& out, std::string_view text) {
    out.runtime().walk(text.size());
    const bool has_single = text.find('\'') != std::string_view::npos;
    const bool has_double = text.find('"') != std::string_view::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    out.append(quote);
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        if (point == static_cast<char32_t>(quote) || point == '\\') {
            out.append('\\');
            out.append(static_cast<char>(point));
        } else if (point == '\n') {
            out.append("\\n");
        } else if (point == '\r') {
            out.append("\\r");
        } else if (point == '\t') {
            out.append("\\t");
        } else if (is_printable(point)) {
            out.append(text.substr(at, width_at(text, at)));
        } else {
            append_escape(out, point < 0x110000 ? point : point - 0x110000);
        }
    }
    out.append(quote);
}

void append_items(TextBuilder& out, const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out.append(", ");
        append_repr(out, items[i]);
    }
}

void append_sequence(TextBuilder& out, const Value& value) {
    const Sequence& sequence = value.sequence();
    switch (sequence.kind) {
        case SequenceKind::Range: out.append(sequence.shown); return;
        case SequenceKind::Iterator: fail("an iterator cannot be printed; make it a list with |list");
        case SequenceKind::List: out.append('['); break;
        case SequenceKind::Tuple: out.append('('); break;
        default: out.append(value.type_name()), out.append("(["); break;
    }
    append_items(out, sequence.items);
    if (sequence.kind == SequenceKind::Tuple && sequence.items.size() == 1) out.append(',');
    out.append(sequence.kind == SequenceKind::List ? "]" : sequence.kind == SequenceKind::Tuple ? ")" : "])");
}

void append_dictionary(TextBuilder& out, const Dictionary& dictionary) {
    out.append('{');
    bool first = true;
    for (const auto& [key, item] : dictionary.entries()) {
        if (!first) out.append(", ");
        first = false;
        append_repr(out, key);
        out.append(": ");
        append_repr(out, item);
    }
    out.append('}');
}

void append_repr(TextBuilder& out, const Value& value) {
    const Level level(out.runtime());
    out.runtime().step();
    if (value.is_text()) {
        if (value.is_safe()) out.append("Markup(");
        append_quoted(out, value.text());
        if (value.is_safe()) out.append(')');
    } else if (value.is_sequence()) {
        append_sequence(out, value);
    } else if (value.is_dictionary()) {
        append_dictionary(out, value.dictionary());
    } else if (value.is_namespace()) {
        out.append("<Namespace ");
        append_dictionary(out, value.space().members);
        out.append('>');
    } else if (value.is_loop()) {
        out.append(text_of("<LoopContext ", value.loop()->index0 + 1, "/", value.loop()->count(), ">"));
    } else if (value.is_callable()) {
        fail("the function '", value.callable()->name, "' cannot be printed; is a call's () missing?");
    } else if (value.is_boolean()) {
        out.append(value.boolean() ? "True" : "False");
    } else if (value.is_integer()) {
        out.append(std::to_string(value.whole()));
    } else if (value.is_float()) {
        out.append(float_text(value.number()));
    } else {
        out.append(value.is_none() ? "None" : "Undefined");
    }
}

}  // namespace

void append_str(TextBuilder& out, const Value& value) {
    if (value.is_text())
        out.append(value.text());
    else if (!value.is_undefined())
        append_repr(out, value);
}

Value str(Runtime& runtime, const Value& value) {
    if (value.is_text()) return value;
    TextBuilder out(runtime);
    append_str(out, value);
    return out.value();
}

Value repr(Runtime& runtime, const Value& value) {
    TextBuilder out(runtime);
    append_repr(out, value);
    return out.value();
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

}  // namespace tessera::jinja
