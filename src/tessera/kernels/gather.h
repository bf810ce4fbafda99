// Moving values by index, one index per value, with torch's meaning of gather and scatter_add; and embedding rows.
// Indices are i64 or i32. An index out of range throws an Error that names it.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// out[i][j][k] = in[i][index[i][j][k]][k] for dim 1, and so on. `index` and `out` have one shape, at most that of `in`
// beyond `dim`. Any plain dtype.
inline Slot<void(const View& in, int dim, const View& index, const View& out)> gather{"gather"};

// into[i][index[i][j][k]][k] += source[i][j][k] for dim 1, and so on, in the order of j: the same bits at any thread
// count. `index` and `source` have one shape; f64 or f32.
inline Slot<void(int dim, const View& index, const View& source, const View& into)> scatter_add{"scatter_add"};

// out[n] = table[ids[n]]: table (V, W), ids (N), out (N, W). A table of a quantised dtype has whole rows and gives f32.
inline Slot<void(const View& table, const View& ids, const View& out)> embedding{"embedding"};

// table_gradient[v] = Σ gradient[n] over n with ids[n] = v, added in the order of n in at least f32; zero for the
// others. gradient (N, W), ids (N).
inline Slot<void(const View& ids, const View& gradient, const View& table_gradient)> embedding_backward{
    "embedding_backward"};

}  // namespace tessera::kernels
