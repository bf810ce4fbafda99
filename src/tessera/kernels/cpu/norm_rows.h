// Rows of a norm: where they are, what they are multiplied by, where they go.
#pragma once

#include <cstdint>

namespace tessera::kernels::cpu {

template <class T>
struct NormRows {
    const T* x = nullptr;
    const T* residual = nullptr;  // or none
    const T* weight = nullptr;
    const T* bias = nullptr;
    T* scratch = nullptr;  // holds x + residual of one row
    T* out = nullptr;
    T* sum = nullptr;   // where there is a residual
    T* mean = nullptr;  // one value a row, or none
    T* rstd = nullptr;  // one value a row
    T eps = 0;
    std::int64_t width = 0;
    bool stream = false;

    std::int64_t count = 1;
    std::int64_t x_step = 0, residual_step = 0, out_step = 0, sum_step = 0;  // from row to row
    std::int64_t fetch_rows = 0;  // how many rows ahead of the first one to fetch; 0: none

    bool fetches() const { return fetch_rows > 0 && fetch_rows < count; }
    // Whether the first pass over a row is the one that reads it from memory.
    bool fetches_on() const { return stream && !residual && fetches(); }
    // The rows to fetch while the first one is computed, or none.
    const T* later_x() const { return fetches() ? x + fetch_rows * x_step : nullptr; }
    const T* later_residual() const { return fetches() ? residual + fetch_rows * residual_step : nullptr; }
    void advance() {
        x += x_step;
        out += out_step;
        if (residual) residual += residual_step, sum += sum_step;
        if (mean) ++mean;
        ++rstd;
        --count;
    }
};

}  // namespace tessera::kernels::cpu
