// Texts with a label each: JSON lines {"text": …, "label": a name or a number}, or text, a tab and a label per line.
#pragma once

#include "tessera/data/lines.h"

namespace tessera::data {

class LabelledTexts {
   public:
    // `field`: the member of a JSON line that holds the text.
    LabelledTexts(const std::vector<std::filesystem::path>& files, std::string field = "text");

    std::int64_t size() const { return lines_.size(); }
    struct Example {
        std::string text, label;  // a number is its digits
    };
    Example at(std::int64_t index) const;
    std::string where(std::int64_t index) const { return lines_.where(index); }
    std::vector<std::string> labels() const;  // each once, sorted

   private:
    Lines lines_;
    std::string field_;
};

// Whether the files are such by their names and, for JSON lines, by their first line.
bool are_labelled_texts(const std::vector<std::string>& files);

}  // namespace tessera::data
