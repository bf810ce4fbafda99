// Adding whole rows where their ids say, in the order of the rows: no atomics, the same bits every time.
#pragma once

#include "tessera/core/view.h"

namespace tessera::kernels::cuda {

// into[ids[n]] ← Σ rows[n] over equal ids, added in the order of n in at least f32, on top of what stood there if
// `adds`. ids (N) i64 or i32, rows (N, W) and into (V, W) of one float dtype. Rows that no id names stay as they are.
void scatter_rows(const View& ids, const View& rows, const View& into, bool adds);

}  // namespace tessera::kernels::cuda
