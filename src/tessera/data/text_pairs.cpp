#include "tessera/data/text_pairs.h"

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"

namespace tessera::data {

TextPairs::TextPairs(const std::vector<std::filesystem::path>& files) : lines_(files) {
    for (std::int64_t i = 0; i < size(); ++i) {
        check(lines_.text(i).find('\t') != std::string_view::npos, where(i), ": expected two texts with a tab between");
        check(text::is_valid_utf8(lines_.text(i)), where(i), ": is not UTF-8");
        const TextPair pair = at(i);
        check(!pair.source.empty() && !pair.target.empty(), where(i), ": ",
              pair.source.empty() ? "the first" : "the second", " text is empty");
    }
}

TextPair TextPairs::at(std::int64_t index) const {
    const std::string_view line = lines_.text(index);
    const std::size_t tab = line.find('\t');
    const std::string_view rest = line.substr(tab + 1);
    return {line.substr(0, tab), rest.substr(0, rest.find('\t'))};
}

}  // namespace tessera::data
