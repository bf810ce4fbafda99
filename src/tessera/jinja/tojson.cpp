// The filter tojson as chat templates know it: Python's json.dumps(value, ensure_ascii=False, …), nothing escaped for
// HTML.
#include <fmt/format.h>

#include <cmath>

#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

class Writer {
   public:
    Writer(Runtime& runtime, const BoundArguments& given) : runtime_(runtime), out_(runtime) {
        ascii_ = given.truth(0, false);
        sort_ = given.truth(3, false);
        if (given.is_given(1)) {
            indented_ = true;
            comma_ = ",";
            if (given.value(1).is_text()) runtime.scan(given.value(1).text().size());
            const Value width = given.value(1);
            indent_ = width.is_text() ? width.text()
                                      : apply(runtime, Operator::Multiply, Value(" "), Value(given.whole(1, 0))).text();
        }
        if (given.is_given(2)) {
            const std::vector<Value> both = items_of(runtime, *given.find(2));
            check(both.size() == 2 && both[0].is_text() && both[1].is_text(), "tojson: separators: expected two texts");
            runtime.scan(both[0].text().size() + both[1].text().size());
            comma_ = both[0].text();
            colon_ = both[1].text();
        }
    }

    Value write(const Value& value) {
        append(value, 0);
        return out_.value();
    }

   private:
    void append(const Value& value, int depth) {
        const Level level(runtime_);
        runtime_.step();
        if (value.is_text())
            append_text(value.text());
        else if (value.is_sequence(SequenceKind::List) || value.is_sequence(SequenceKind::Tuple))
            append_list(value.sequence().items, depth);
        else if (value.is_dictionary())
            append_dictionary(value.dictionary(), depth);
        else
            out_.append(scalar(value));
    }

    static std::string scalar(const Value& value) {
        if (value.is_none()) return "null";
        if (value.is_boolean()) return value.boolean() ? "true" : "false";
        if (value.is_integer()) return std::to_string(value.whole());
        check(value.is_float(), "Object of type ", value.type_name(), " is not JSON serializable");
        if (std::isnan(value.number())) return "NaN";
        if (std::isinf(value.number())) return value.number() < 0 ? "-Infinity" : "Infinity";
        return float_text(value.number());
    }

    void new_line(int depth) {
        if (!indented_) return;
        out_.append('\n');
        out_.repeat(indent_, static_cast<std::size_t>(depth));
    }

    void append_list(const std::vector<Value>& items, int depth) {
        out_.append('[');
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out_.append(comma_);
            new_line(depth + 1);
            append(items[i], depth + 1);
        }
        if (!items.empty()) new_line(depth);
        out_.append(']');
    }

    void append_dictionary(const Dictionary& dictionary, int depth) {
        std::vector<Value> keys;
        runtime_.charge_items(dictionary.entries().size());
        for (const auto& [key, _] : dictionary.entries()) keys.push_back(key);
        if (sort_) {
            const Arguments case_sensitive{.named = {{"case_sensitive", Value(true)}}};
            keys = find_filter("sort")(runtime_, runtime_.list(std::move(keys)), case_sensitive).sequence().items;
        }
        out_.append('{');
        bool first = true;
        for (const Value& key : keys) {
            if (!first) out_.append(comma_);
            first = false;
            new_line(depth + 1);
            check(!key.is_sequence(), "tojson: a key must be a text, a number or none, not a ", key.type_name());
            append_text(key.is_text() ? key.text() : scalar(key));
            out_.append(colon_);
            append(*dictionary.find(runtime_, key), depth + 1);
        }
        if (!first) new_line(depth);
        out_.append('}');
    }

    void append_escape(unsigned unit) { out_.append(fmt::format("\\u{:04x}", unit & 0xFFFFu)); }

    void append_text(std::string_view text) {
        runtime_.walk(text.size());
        out_.append('"');
        for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
            const char32_t point = code_point_at(text, at);
            if (point == '"')
                out_.append("\\\"");
            else if (point == '\\')
                out_.append("\\\\");
            else if (point == '\n')
                out_.append("\\n");
            else if (point == '\r')
                out_.append("\\r");
            else if (point == '\t')
                out_.append("\\t");
            else if (point == '\f')
                out_.append("\\f");
            else if (point == '\b')
                out_.append("\\b");
            else if (point < 0x20 || (ascii_ && point >= 0x7F && point < 0x10000))
                append_escape(static_cast<unsigned>(point));
            else if (ascii_ && point >= 0x10000 && point < 0x110000) {
                append_escape(0xD800u + ((static_cast<unsigned>(point) - 0x10000u) >> 10u));
                append_escape(0xDC00u + ((static_cast<unsigned>(point) - 0x10000u) & 0x3FFu));
            } else {
                out_.append(text.substr(at, width_at(text, at)));
            }
        }
        out_.append('"');
    }

    Runtime& runtime_;
    TextBuilder out_;
    std::string comma_ = ", ", colon_ = ": ", indent_;
    bool ascii_ = false, indented_ = false, sort_ = false;
};

}  // namespace

Value tojson(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
    return Writer(runtime, given).write(input);
}

}  // namespace tessera::jinja
