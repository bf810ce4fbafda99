#include "tessera/models/token_rows.h"

#include <algorithm>

#include "tessera/models/padding.h"

namespace tessera::models {

std::vector<std::int64_t> checked_ids(const Tensor& ids, std::int64_t vocabulary) {
    check(ids.rank() == 2 && ids.size(0) > 0 && ids.size(1) > 0, "input_ids: expected (B, T), found ", ids.shape());
    std::vector<std::int64_t> values = ids.to_vector<std::int64_t>();
    for (const std::int64_t id : values)
        check(id >= 0 && id < vocabulary, "input_ids: ", id, " is outside a vocabulary of ", vocabulary);
    return values;
}

std::vector<TokenRow> token_rows(const std::vector<std::int64_t>& ids, const Tensor& attention_mask,
                                 std::int64_t rows) {
    const Padding padding = padding_of(attention_mask);
    const auto count = static_cast<std::int64_t>(ids.size()) / rows;
    const auto fact = [&](const Tensor& values, std::int64_t fallback) {
        return values.defined() ? values.to_vector<std::int64_t>()
                                : std::vector<std::int64_t>(static_cast<std::size_t>(rows), fallback);
    };
    const std::vector<std::int64_t> starts = fact(padding.starts, 0), ends = fact(padding.lengths, count);
    std::vector<TokenRow> found;
    for (std::size_t row = 0; row < starts.size(); ++row) {
        const std::int64_t* first = ids.data() + static_cast<std::int64_t>(row) * count;
        found.push_back({first + starts[row], first + std::max(starts[row], ends[row])});
    }
    return found;
}

}  // namespace tessera::models
