#include <algorithm>

#include "benchmarks/ladder.h"

namespace tessera::benchmarks {

void matmul_naive(const SquareMatmul& m) {
    for (std::int64_t i = 0; i < m.size; ++i)
        for (std::int64_t j = 0; j < m.size; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < m.size; ++k) sum += m.a[i * m.size + k] * m.b[k * m.size + j];
            m.c[i * m.size + j] = sum;
        }
}

void matmul_reordered(const SquareMatmul& m) {
    std::fill_n(m.c, m.size * m.size, 0.0f);
    for (std::int64_t i = 0; i < m.size; ++i)
        for (std::int64_t k = 0; k < m.size; ++k) {
            const float factor = m.a[i * m.size + k];
            for (std::int64_t j = 0; j < m.size; ++j) m.c[i * m.size + j] += factor * m.b[k * m.size + j];
        }
}

void matmul_blocked(const SquareMatmul& m) {
    constexpr std::int64_t block = 64;  // rows of b that stay in the second-level cache while all rows of c pass by
    std::fill_n(m.c, m.size * m.size, 0.0f);
    for (std::int64_t first = 0; first < m.size; first += block)
        for (std::int64_t i = 0; i < m.size; ++i)
            for (std::int64_t k = first; k < first + block; k += 4) {  // c is loaded and stored once for four steps
                const float *a = m.a + i * m.size + k, *b = m.b + k * m.size;
                const float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
                float* c = m.c + i * m.size;
                for (std::int64_t j = 0; j < m.size; ++j) {
                    float sum = c[j] + a0 * b[j];
                    sum += a1 * b[m.size + j];
                    sum += a2 * b[2 * m.size + j];
                    sum += a3 * b[3 * m.size + j];
                    c[j] = sum;
                }
            }
}

}  // namespace tessera::benchmarks
