#include "tessera/models/left_align.h"

#include <algorithm>

#include "tessera/models/padding.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/views.h"

namespace tessera::models {
namespace {

// For each place (B, T), the one `shift[row]` further, kept within the row and counted over the whole batch.
Tensor shifted_places(const std::vector<std::int64_t>& shifts, std::int64_t count) {
    std::vector<std::int64_t> places;
    for (std::size_t row = 0; row < shifts.size(); ++row)
        for (std::int64_t i = 0; i < count; ++i)
            places.push_back(static_cast<std::int64_t>(row) * count +
                             std::clamp<std::int64_t>(i + shifts[row], 0, count - 1));
    return Tensor::from(places, {static_cast<std::int64_t>(shifts.size()), count});
}

}  // namespace

Aligned align(const Tensor& ids, const Tensor& attention_mask) {
    check(ids.rank() == 2 && ids.size(1) > 0, "input_ids: expected (B, T), found ", ids.shape());
    const Padding padding = padding_of(attention_mask);
    Aligned aligned{.ids = ids, .lengths = padding.lengths, .starts = padding.starts};
    if (!padding.starts.defined()) return aligned;
    const std::int64_t rows = ids.size(0), count = ids.size(1);
    const Tensor ends = padding.lengths.defined()
                            ? padding.lengths
                            : Tensor::full({rows}, static_cast<double>(count), DType::I64, padding.starts.device());
    aligned.lengths = ops::sub(ends, padding.starts);
    const std::vector<std::int64_t> given = ids.to_vector<std::int64_t>();
    std::vector<std::int64_t> moved;
    for (const std::int64_t place :
         shifted_places(padding.starts.to_vector<std::int64_t>(), count).to_vector<std::int64_t>())
        moved.push_back(given[static_cast<std::size_t>(place)]);
    aligned.ids = Tensor::from(moved, {rows, count}).to(ids.device());
    return aligned;
}

Tensor moved_back(const Tensor& states, const Aligned& aligned) {
    if (!aligned.starts.defined()) return states;
    std::vector<std::int64_t> shifts = aligned.starts.to_vector<std::int64_t>();
    for (std::int64_t& shift : shifts) shift = -shift;
    const Tensor flat = ops::reshape(states, {states.size(0) * states.size(1), states.size(2)});
    return ops::embedding(flat, shifted_places(shifts, states.size(1)).to(states.device()));
}

}  // namespace tessera::models
