#include "tessera/inference/read_texts.h"

#include "tessera/core/error.h"

namespace tessera::inference {

ReadTexts read_texts(const models::OpenedModel& model, const std::vector<std::string>& texts, std::int64_t longest) {
    ReadTexts all;
    const tokenizers::Tokenizer& tokenizer = model.text();
    for (const std::string& text : texts) {
        tokenizers::Ids ids = longest > 0 ? tokenizer.encode_at_most(text, longest) : tokenizer.encode(text);
        check(!ids.empty(), "text ", all.ids.size() + 1, " has no tokens");
        const auto count = static_cast<std::int64_t>(ids.size());
        const bool is_full = longest > 0 && count == longest;
        const bool is_truncated = is_full && tokenizer.encode_at_most(text, longest + 1).size() > ids.size();
        all.read.push_back({.tokens = count, .is_truncated = is_truncated});
        all.ids.push_back(std::move(ids));
    }
    return all;
}

}  // namespace tessera::inference
