#include "tessera/models/import/rope_rows.h"

namespace tessera::models {

Tensor rows_in_halves(const Tensor& weight, std::int64_t heads, const std::string& who) {
    const bool fits = (weight.rank() == 1 || weight.rank() == 2) && weight.size(0) % (2 * heads) == 0;
    check(fits, who, ": shape ", weight.shape(), " does not split into ", heads, " heads of pairs");
    const std::int64_t row = weight.stride(0), pairs = weight.size(0) / heads / 2;
    Shape halves{heads, 2, pairs}, strides{2 * pairs * row, row, 2 * row};  // of a head of (pairs, 2) rows
    if (weight.rank() == 2) {
        halves.push_back(weight.size(1));
        strides.push_back(weight.stride(1));
    }
    const Tensor copy = weight.with_layout(halves, strides, weight.offset()).clone();
    return copy.with_layout(weight.shape(), contiguous_strides(weight.shape()), 0);
}

}  // namespace tessera::models
