#include "tessera/data/labelled_texts.h"

#include <algorithm>
#include <set>

#include "tessera/core/error.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"

namespace tessera::data {
namespace {

using formats::Json;

LabelledTexts::Example in_json(std::string_view line, const std::string& field, const std::string& where) {
    const Json value = Json::parse(line, where);
    check(value.is_object(), where, ": expected an object, found ", value);
    const Json *text = value.find(field), *label = value.find("label");
    check(text && text->is_string(), where, ": no text under \"", field, "\"");
    check(label && (label->is_string() || label->is_integer()), where, ": no name and no whole number under \"label\"");
    return {text->as_string(), label->is_string() ? label->as_string() : std::to_string(label->as_integer())};
}

LabelledTexts::Example in_columns(std::string_view line, const std::string& where) {
    const std::size_t tab = line.rfind('\t');
    check(tab != line.npos, where, ": expected a text, a tab and a label");
    return {std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))};
}

}  // namespace

LabelledTexts::LabelledTexts(const std::vector<std::filesystem::path>& files, std::string field)
    : lines_(files), field_(std::move(field)) {
    for (std::int64_t i = 0; i < size(); ++i) {
        const Example example = at(i);
        check(text::is_valid_utf8(example.text), where(i), ": the text is not UTF-8");
    }
}

LabelledTexts::Example LabelledTexts::at(std::int64_t index) const {
    const std::string_view line = lines_.text(index);
    Example example =
        is_json_lines(lines_.file(index)) ? in_json(line, field_, where(index)) : in_columns(line, where(index));
    check(!example.text.empty() && !example.label.empty(), where(index), ": the ",
          example.text.empty() ? "text" : "label", " is empty");
    check(text::is_valid_utf8(example.label), where(index), ": the label '", text::repaired_utf8(example.label),
          "' is not UTF-8");
    return example;
}

std::vector<std::string> LabelledTexts::labels() const {
    std::set<std::string> labels;
    for (std::int64_t i = 0; i < size(); ++i) labels.insert(at(i).label);
    return {labels.begin(), labels.end()};
}

bool are_labelled_texts(const std::vector<std::string>& files) {
    return std::all_of(files.begin(), files.end(), [](const std::filesystem::path& file) {
        if (file.extension() == ".tsv") return true;
        if (!std::filesystem::is_regular_file(file) || !is_json_lines(file)) return false;
        const Lines lines({file});
        if (lines.size() == 0) return false;
        const Json first = Json::parse(lines.text(0), lines.where(0));
        return first.is_object() && first.find("label") != nullptr;
    });
}

}  // namespace tessera::data
