// The rows of a view whose dtype may be quantised: then each row must be whole blocks, one after another.
#pragma once

#include <cstddef>

#include "tessera/core/view.h"

namespace tessera::kernels::cpu {

class QuantisedRows {
   public:
    // `who` names the op in the error where a view cuts or scatters blocks.
    QuantisedRows(const View& view, const char* who);

    std::byte* row(std::int64_t index) const;  // rows in row-major order over every dimension but the last

   private:
    const View& view_;
    std::int64_t block_elements_, block_bytes_;
};

// kernels::copy where at least one side is quantised: decodes, encodes, or copies blocks of one dtype as they are.
void copy_quantised(const View& from, const View& to);

}  // namespace tessera::kernels::cpu
