#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "benchmarks/ladder.h"

namespace tessera::benchmarks {
namespace {

float dot(const float* a, const float* b, std::int64_t count) {
    float sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

void add_scaled(float factor, const float* from, float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// Four dot products at once: one load of a for four uses, and four sums that need not wait for each other.
void four_dots(const float* a, const float* b, std::int64_t count, float* out) {
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        s0 += a[i] * b[i];
        s1 += a[i] * b[count + i];
        s2 += a[i] * b[2 * count + i];
        s3 += a[i] * b[3 * count + i];
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
}

void add_four_scaled(const float* factors, const float* from, float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += factors[0] * from[i] + factors[1] * from[count + i] + factors[2] * from[2 * count + i] +
                 factors[3] * from[3 * count + i];
}

// A query's softmax over the keys met so far: the sum of weights relative to e^maximum, and the mix beside it in `out`.
struct Running {
    float maximum = -std::numeric_limits<float>::infinity();
    float sum = 0;

    // Milakov and Gimelshein 2018: a new maximum scales down what was gathered under the old one.
    void raise(float score, float* out, std::int64_t width) {
        if (score <= maximum) return;
        const float shrink = std::exp(maximum - score);
        sum *= shrink;
        for (std::int64_t i = 0; i < width; ++i) out[i] *= shrink;
        maximum = score;
    }
    float weight(float score) {
        const float weight = std::exp(score - maximum);
        sum += weight;
        return weight;
    }
    void finish(float* out, std::int64_t width) const {
        for (std::int64_t i = 0; i < width; ++i) out[i] /= sum;
    }
};

}  // namespace

void attention_matrix(const HeadAttention& h) {
    const float scale = 1 / std::sqrt(static_cast<float>(h.width));
    std::vector<float> scores(static_cast<std::size_t>(h.length * h.length));
    for (std::int64_t head = 0; head < h.heads; ++head) {
        const std::int64_t start = head * h.length * h.width;
        for (std::int64_t i = 0; i < h.length; ++i)
            for (std::int64_t j = 0; j <= i; ++j)
                scores[static_cast<std::size_t>(i * h.length + j)] =
                    scale * dot(h.query + start + i * h.width, h.key + start + j * h.width, h.width);
        for (std::int64_t i = 0; i < h.length; ++i) {
            float* row = scores.data() + i * h.length;
            const float maximum = *std::max_element(row, row + i + 1);
            float sum = 0;
            for (std::int64_t j = 0; j <= i; ++j) sum += row[j] = std::exp(row[j] - maximum);
            for (std::int64_t j = 0; j <= i; ++j) row[j] /= sum;
        }
        std::fill_n(h.out + start, h.length * h.width, 0.0f);
        for (std::int64_t i = 0; i < h.length; ++i)
            for (std::int64_t d = 0; d < h.width; ++d)
                for (std::int64_t j = 0; j <= i; ++j)
                    h.out[start + i * h.width + d] +=
                        scores[static_cast<std::size_t>(i * h.length + j)] * h.value[start + j * h.width + d];
    }
}

void attention_online(const HeadAttention& h) {
    const float scale = 1 / std::sqrt(static_cast<float>(h.width));
    std::fill_n(h.out, h.heads * h.length * h.width, 0.0f);
    for (std::int64_t head = 0; head < h.heads; ++head)
        for (std::int64_t i = 0; i < h.length; ++i) {
            const std::int64_t start = head * h.length * h.width;
            float* out = h.out + start + i * h.width;
            Running running;
            for (std::int64_t j = 0; j <= i; ++j) {
                const float score = scale * dot(h.query + start + i * h.width, h.key + start + j * h.width, h.width);
                running.raise(score, out, h.width);
                add_scaled(running.weight(score), h.value + start + j * h.width, out, h.width);
            }
            running.finish(out, h.width);
        }
}

namespace {

constexpr std::int64_t block = 32;  // of queries and of keys

// One query against one block of keys, of which it sees the first `seen`. The length is a multiple of the block.
void meet_block(const HeadAttention& h, std::int64_t query, std::int64_t key, std::int64_t seen, Running& running) {
    float scores[block];
    float* out = h.out + query * h.width;
    for (std::int64_t j = 0; j < seen; j += 4)
        four_dots(h.query + query * h.width, h.key + (key + j) * h.width, h.width, scores + j);
    const float scale = 1 / std::sqrt(static_cast<float>(h.width));
    running.raise(scale * *std::max_element(scores, scores + seen), out, h.width);
    for (std::int64_t j = 0; j < block; ++j) scores[j] = j < seen ? running.weight(scale * scores[j]) : 0;
    for (std::int64_t j = 0; j < seen; j += 4) add_four_scaled(scores + j, h.value + (key + j) * h.width, out, h.width);
}

}  // namespace

void attention_blocked(const HeadAttention& h) {
    std::fill_n(h.out, h.heads * h.length * h.width, 0.0f);
    for (std::int64_t head = 0; head < h.heads; ++head)
        for (std::int64_t first = 0; first < h.length; first += block) {
            const std::int64_t start = head * h.length;
            Running running[block];
            for (std::int64_t key = 0; key <= first; key += block)
                for (std::int64_t i = 0; i < block; ++i)
                    meet_block(h, start + first + i, start + key, std::min(block, first + i + 1 - key), running[i]);
            for (std::int64_t i = 0; i < block; ++i) running[i].finish(h.out + (start + first + i) * h.width, h.width);
        }
}

}  // namespace tessera::benchmarks
