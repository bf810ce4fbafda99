#include "tessera/models/padding.h"

#include <algorithm>

namespace tessera::models {

Padding padding_of(const Tensor& attention_mask) {
    if (!attention_mask.defined()) return {};
    check(attention_mask.rank() == 2, "attention_mask: expected (B, T), found ", attention_mask.shape());
    const std::int64_t rows = attention_mask.size(0), count = attention_mask.size(1);
    const std::vector<std::int64_t> ones = attention_mask.to_vector<std::int64_t>();
    std::vector<std::int64_t> starts, lengths, positions;
    bool left = false, right = false;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = ones.begin() + row * count, end = begin + count;
        const auto first = std::find(begin, end, 1), last = std::find(first, end, 0);
        check(std::find(last, end, 1) == end, "attention_mask: row ", row,
              " has padding between its tokens; padding may stand before or after them only");
        starts.push_back(first - begin);
        lengths.push_back(last - begin);
        left = left || (first != begin && first != end);
        right = right || last != end;
        for (std::int64_t i = 0; i < count; ++i) positions.push_back(std::max<std::int64_t>(0, i - starts.back()));
    }
    const auto placed = [&](const Tensor& tensor) { return tensor.to(attention_mask.device()); };
    Padding padding;
    if (left) padding.starts = placed(Tensor::from(starts, {rows}));
    if (right) padding.lengths = placed(Tensor::from(lengths, {rows}));
    if (left) padding.positions = placed(Tensor::from(positions, {rows, count}));
    return padding;
}

}  // namespace tessera::models
