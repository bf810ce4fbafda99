#include "models/rope_rows.h"

#include "ops/views.h"
#include "tensor/tape.h"

namespace tessera::models {

Tensor rows_in_halves(const Tensor& weight, std::int64_t heads, const std::string& who) {
    const bool fits = (weight.rank() == 1 || weight.rank() == 2) && weight.size(0) % (2 * heads) == 0;
    check(fits, who, ": shape ", weight.shape(), " does not split into ", heads, " heads of pairs");
    const NoGrad no_grad;
    Shape paired{heads, weight.size(0) / heads / 2, 2};  // (heads, pairs, 2, …)
    if (weight.rank() == 2) paired.push_back(weight.size(1));
    return ops::reshape(ops::transpose(ops::reshape(weight, paired), 1, 2).clone(), weight.shape());
}

}  // namespace tessera::models
