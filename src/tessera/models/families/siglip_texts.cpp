#include "tessera/models/families/siglip_texts.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>

#include "tessera/formats/find_file.h"
#include "tessera/models/settings.h"

namespace tessera::models {
namespace {

using tokenizers::Ids;

bool is_space(utf8proc_int32_t c) {
    if (c < 0x80) return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20);
    const utf8proc_category_t category = utf8proc_category(c);
    return c == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

// The first of the family came with a tokenizer class of its own, which cleans the text; the second has what its
// tokenizer.json says.
struct Cleaning {
    bool cleans = true, lower_case = true;
};

Cleaning read_cleaning(const std::filesystem::path& folder) {
    const std::filesystem::path path = formats::find_file(folder, "tokenizer_config.json");
    if (path.empty()) return {};
    const Config config(formats::Json::read(path), path.string());
    return {config.text("tokenizer_class", "SiglipTokenizer").starts_with("SiglipTokenizer"),
            config.boolean("do_lower_case", true)};
}

}  // namespace

std::string canonical_text(std::string_view text, bool lower_case) {
    std::string clean;
    bool space = false;
    while (!text.empty()) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                       static_cast<utf8proc_ssize_t>(text.size()), &c);
        check(used > 0, "the text '", text, "' is not UTF-8");
        text = text.substr(static_cast<std::size_t>(used));
        if (c < 0x80 && std::ispunct(c)) continue;
        if (is_space(c)) {
            space = true;
            continue;
        }
        utf8proc_uint8_t bytes[4];
        const utf8proc_ssize_t count = utf8proc_encode_char(lower_case ? utf8proc_tolower(c) : c, bytes);
        if (space && !clean.empty()) clean += ' ';
        space = false;
        clean.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    }
    return clean;
}

std::vector<Ids> siglip_texts(const Config& config, const std::filesystem::path& folder,
                              const tokenizers::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
    const Config text_config = config.section_or_empty("text_config");
    const auto length = static_cast<std::size_t>(read_size(text_config, "max_position_embeddings", 64));
    // The defaults of that class; eos_token_id of config.json is another tokenizer's.
    const std::int64_t end = tokenizer.special.eos.value_or(tokenizer.id("</s>").value_or(1));
    const std::int64_t padding = tokenizer.special.padding.value_or(end);
    const Cleaning cleaning = read_cleaning(folder);
    std::vector<Ids> rows;
    for (const std::string& text : texts) {
        Ids ids;
        if (cleaning.cleans) {
            ids = tokenizer.encode(canonical_text(text, cleaning.lower_case), false);
            ids.resize(std::min(ids.size(), length - 1));
            if (ids.empty() || ids.back() != end) ids.push_back(end);
        } else {
            ids = tokenizer.encode_at_most(text, static_cast<std::int64_t>(length));
        }
        ids.resize(length, padding);
        rows.push_back(std::move(ids));
    }
    return rows;
}

}  // namespace tessera::models
