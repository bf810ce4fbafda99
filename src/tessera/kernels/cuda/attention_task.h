// An attention call as the kernels see it, and the score of one pair. The query rows of a key head are numbered by
// query and then by head of its group: a tile of them then stands at neighbouring positions whatever the group's size,
// and a window over the keys stays narrow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tessera/kernels/attention.h"
#include "tessera/kernels/cuda/attention_tiles.h"
#include "tessera/kernels/cuda/stream.h"

namespace tessera::kernels::cuda {

// Rows of a (B, T, H, D) view, of T or of its compute type.
template <class T>
struct HeadRows {
    const void* data;
    std::int64_t strides[3];
    bool wide;  // the compute type

    HeadRows() = default;
    explicit HeadRows(const View& view)
        : data(view.data),
          strides{view.strides[0], view.strides[1], view.strides[2]},
          wide(view.dtype == dtype_of<compute_t<T>>) {}

    __device__ std::int64_t start(std::int64_t batch, std::int64_t time, std::int64_t head) const {
        return batch * strides[0] + time * strides[1] + head * strides[2];
    }
    __device__ compute_t<T> load(std::int64_t index) const {
        return wide ? static_cast<const compute_t<T>*>(data)[index] : widen(static_cast<const T*>(data)[index]);
    }
    __device__ void store(std::int64_t index, compute_t<T> value) const {
        if (wide)
            static_cast<compute_t<T>*>(const_cast<void*>(data))[index] = value;
        else
            static_cast<T*>(const_cast<void*>(data))[index] = convert_to<T>(value);
    }
};

template <class T>
struct AttentionTask {
    using Compute = compute_t<T>;
    HeadRows<T> query, key, value;
    int batches, queries, keys, heads, key_heads, group, width, value_width;
    Compute scale, cap;
    kernels::KeyMask mask;
    const float* slopes;  // or null
    const T* bias;        // or null
    std::int64_t bias_strides[4];
    bool drops;
    std::uint32_t dropout_threshold;
    RandomKey dropout_key;
    Compute kept;  // what a weight that is not dropped is multiplied by

    AttentionTask(const kernels::AttentionSettings& settings, const View& q, const View& k, const View& v)
        : query(q),
          key(k),
          value(v),
          batches(static_cast<int>(q.size(0))),
          queries(static_cast<int>(q.size(1))),
          keys(static_cast<int>(k.size(1))),
          heads(static_cast<int>(q.size(2))),
          key_heads(static_cast<int>(k.size(2))),
          group(heads / key_heads),
          width(static_cast<int>(q.size(3))),
          value_width(static_cast<int>(v.size(3))),
          scale(static_cast<Compute>(settings.scale)),
          cap(static_cast<Compute>(settings.soft_cap)),
          mask(settings.mask),
          slopes(settings.slopes.as<const float>()),
          bias(settings.bias.as<const T>()),
          drops(settings.dropout > 0),
          dropout_threshold(settings.dropout_threshold()),
          dropout_key(settings.dropout_key),
          kept(static_cast<Compute>(1 / (1 - settings.dropout))) {
        constexpr std::int64_t most = std::int64_t{1} << 30;
        check(q.size(1) * group < most && k.size(1) < most, "attention: query ", q.shape, " and key ", k.shape,
              " are too long for the CUDA kernels");
        for (int dim = 0; dim < 4; ++dim) bias_strides[dim] = settings.bias.defined() ? settings.bias.strides[dim] : 0;
    }

    int query_rows() const { return queries * group; }  // of one key head
};

// Facts about the query rows of a tile, in shared memory.
template <int size>
struct TileRows {
    int query[size], head[size];
    int begin[size], end[size];  // the keys each one sees; none for rows that do not exist

    template <class T>
    __device__ void set(const AttentionTask<T>& task, int i, int batch, bool exists, int query_at, int head_at) {
        query[i] = exists ? query_at : 0;
        head[i] = exists ? head_at : 0;
        const kernels::KeyRange range =
            exists ? task.mask.range(batch, query_at, task.queries, task.keys) : kernels::KeyRange{0, 0};
        begin[i] = static_cast<int>(range.begin);
        end[i] = static_cast<int>(range.end);
    }
    // The rows [first, first + count) of a key head.
    template <class T>
    __device__ void set_rows(const AttentionTask<T>& task, int batch, int key_head, int first, int count) {
        for (int i = threadIdx.x; i < size; i += attention_threads)
            set(task, i, batch, i < count, (first + i) / task.group, key_head * task.group + (first + i) % task.group);
    }
    // From the first to the last key that any row sees.
    __device__ void span(int& first, int& last) const {
        first = std::numeric_limits<int>::max();
        last = 0;
        for (int i = 0; i < size; ++i) {
            if (begin[i] == end[i]) continue;
            first = ::min(first, begin[i]);
            last = ::max(last, end[i]);
        }
        first = ::min(first, last);
    }
    template <class T>
    __device__ std::int64_t log_sum_index(const AttentionTask<T>& task, int batch, int i) const {
        return (std::int64_t{batch} * task.heads + head[i]) * task.queries + query[i];
    }
};

template <class Compute>
struct Score {
    Compute value;      // −infinity where the query does not see the key
    Compute cap_slope;  // d value / d (scale · query · key)
};

template <int size, class T>
__device__ Score<compute_t<T>> score_of(const AttentionTask<T>& task, const TileRows<size>& rows, int batch, int row,
                                        int key, compute_t<T> product) {
    using Compute = compute_t<T>;
    const Compute hidden = -std::numeric_limits<Compute>::infinity();
    if (key < rows.begin[row] || key >= rows.end[row]) return {hidden, 0};
    if (task.mask.hidden_keys != nullptr && task.mask.hidden_keys[std::int64_t{batch} * task.keys + key])
        return {hidden, 0};
    Score<Compute> score{product * task.scale, 1};
    if (task.cap > 0) {
        const Compute bent = ::tanh(score.value / task.cap);
        score = {task.cap * bent, 1 - bent * bent};
    }
    const int query = rows.query[row], head = rows.head[row];
    if (task.slopes != nullptr)
        score.value +=
            static_cast<Compute>(task.slopes[head]) * static_cast<Compute>(key - task.mask.position(batch, query));
    if (task.bias != nullptr)
        score.value += widen(task.bias[batch * task.bias_strides[0] + head * task.bias_strides[1] +
                                       query * task.bias_strides[2] + key * task.bias_strides[3]]);
    return score;
}

// 1 / (1 − dropout) where the weight of a pair is kept, else 0.
template <int size, class T>
__device__ compute_t<T> dropout_factor(const AttentionTask<T>& task, const TileRows<size>& rows, int batch, int row,
                                       int key) {
    if (!task.drops) return 1;
    const std::int64_t index = rows.log_sum_index(task, batch, row) * task.keys + key;
    const std::uint32_t bits = random_bits(task.dropout_key, static_cast<std::uint64_t>(index));
    return bits >= task.dropout_threshold ? task.kept : compute_t<T>(0);
}

// Shared memory above 48 KiB has to be asked for.
template <class Kernel>
void launch_attention(const char* name, Kernel kernel, std::int64_t blocks, std::size_t bytes, int device,
                      const auto& task) {
    check(blocks < std::int64_t{1} << 31, name, ": ", blocks, " tiles are too many");
    if (blocks == 0) return;
    const cudaStream_t stream = stream_of(device);
    if (bytes > 48 << 10)
        check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                   "cudaFuncSetAttribute");
    kernel<<<static_cast<unsigned>(blocks), attention_threads, bytes, stream>>>(task);
    check_launch(name);
}

}  // namespace tessera::kernels::cuda
