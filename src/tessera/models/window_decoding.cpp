#include "tessera/models/window_decoding.h"

#include <algorithm>

#include "tessera/models/token_rows.h"

namespace tessera::models {
namespace {

class WindowSession : public DecodingSession {
   public:
    explicit WindowSession(WindowSettings settings) : settings_(std::move(settings)) {}

    Tensor prefill(const Batch& prompt) override {
        const std::vector<std::int64_t> ids = checked_ids(prompt.input_ids, settings_.vocabulary);
        rows_.clear();
        for (const TokenRow& row : token_rows(ids, prompt.attention_mask, prompt.input_ids.size(0)))
            rows_.emplace_back(row.begin, row.end);
        return logits();
    }

    Tensor step(const Tensor& ids) override {
        const std::vector<std::int64_t> next = checked_ids(ids, settings_.vocabulary);
        check(static_cast<std::size_t>(ids.size(0)) == rows_.size(), "input_ids: ", ids.size(0), " rows after ",
              rows_.size());
        const auto count = static_cast<std::size_t>(ids.size(1));
        for (std::size_t row = 0; row < rows_.size(); ++row)
            rows_[row].insert(rows_[row].end(), next.begin() + static_cast<std::ptrdiff_t>(row * count),
                              next.begin() + static_cast<std::ptrdiff_t>((row + 1) * count));
        return logits();
    }

    void reorder(std::span<const std::int64_t> rows) override {
        std::vector<std::vector<std::int64_t>> after;
        for (const std::int64_t row : rows) after.push_back(rows_.at(static_cast<std::size_t>(row)));
        rows_ = std::move(after);
    }

    std::int64_t cache_bytes() const override {
        return static_cast<std::int64_t>(rows_.size() * sizeof(std::int64_t)) * settings_.count;
    }

   private:
    Tensor logits() {
        for (std::vector<std::int64_t>& tokens : rows_) {
            const auto kept = std::min(tokens.size(), static_cast<std::size_t>(settings_.count));
            tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(kept));
        }
        return settings_.logits(rows_);
    }

    WindowSettings settings_;
    std::vector<std::vector<std::int64_t>> rows_;
};

}  // namespace

std::unique_ptr<DecodingSession> decode_window(WindowSettings settings) {
    return std::make_unique<WindowSession>(std::move(settings));
}

}  // namespace tessera::models
