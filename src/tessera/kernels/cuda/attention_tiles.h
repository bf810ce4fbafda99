// Products of small tiles in shared memory, for attention forward and backward. A block has 16 × 16 threads; thread
// (line, place) owns rows line · R … of a result and, of every 64 columns, those from place · 4 on. Sums are plain
// multiply-adds in the compute type: nothing is rounded to TF32.
#pragma once

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {

constexpr int attention_threads = 256;
constexpr int tile_lines = 16;
constexpr int key_tile = 64;      // keys that are scored together
constexpr int depth_tile = 32;    // of a product, how much is in shared memory at once
constexpr int column_tile = 128;  // columns of a result that one block keeps in registers
constexpr int column_groups = column_tile / 64;

// Values from one line of a tile to the next: lines stay aligned for packs of four, and neither rows nor columns fall
// onto one bank.
constexpr int tile_stride(int size) { return size + 4; }

__device__ inline int thread_line() { return threadIdx.x / tile_lines; }
__device__ inline int thread_place() { return threadIdx.x % tile_lines; }

// `size` rows × depth_tile values from `first` on, turned: value d of row r lies at d · tile_stride(size) + r.
// at(row, index) reads one value; rows from `rows` on and values from `width` on are zeros. Eight lanes go along a row
// and four rows side by side, so that reads share sectors and writes hit different banks.
template <int size, class T, class At>
__device__ void load_turned(int rows, int first, int width, At&& at, T* to) {
    for (int row = threadIdx.x / 8; row < size; row += attention_threads / 8)
#pragma unroll
        for (int step = 0; step < depth_tile; step += 8) {
            const int index = step + threadIdx.x % 8;
            const bool exists = row < rows && first + index < width;
            to[index * tile_stride(size) + row] = exists ? at(row, first + index) : T(0);
        }
}

// depth_tile rows × `groups` · 64 columns as they are; zeros from `rows` and from `columns` on.
template <class T, class At>
__device__ void load_straight(int rows, int columns, int groups, At&& at, T* to) {
    const int width = groups * 64;
    for (int i = threadIdx.x; i < depth_tile * width; i += attention_threads) {
        const int row = i / width, column = i % width;
        to[row * column_tile + column] = row < rows && column < columns ? at(row, column) : T(0);
    }
}

// sums (16 R × 64) += left · right, both turned: left is depth_tile × 16 R, right depth_tile × 64.
template <int R, class T>
__device__ void multiply_turned(const T* left, const T* right, T (&sums)[R][4]) {
    left += thread_line() * R;
    right += thread_place() * 4;
#pragma unroll 8
    for (int d = 0; d < depth_tile; ++d) {
        const auto a = *reinterpret_cast<const Pack<T, R>*>(left + d * tile_stride(tile_lines * R));
        const auto b = *reinterpret_cast<const Pack<T, 4>*>(right + d * tile_stride(key_tile));
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) sums[i][j] += a.value[i] * b.value[j];
    }
}

// sums (16 R × groups · 64) += left · right: left turned (depth_tile × 16 R), right straight.
template <int R, class T>
__device__ void multiply_straight(const T* left, const T* right, int groups, T (&sums)[R][column_groups][4]) {
    left += thread_line() * R;
    right += thread_place() * 4;
#pragma unroll 4
    for (int d = 0; d < depth_tile; ++d) {
        const auto a = *reinterpret_cast<const Pack<T, R>*>(left + d * tile_stride(tile_lines * R));
#pragma unroll
        for (int group = 0; group < column_groups; ++group) {
            if (group >= groups) break;
            const auto b = *reinterpret_cast<const Pack<T, 4>*>(right + d * column_tile + group * 64);
#pragma unroll
            for (int i = 0; i < R; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][group][j] += a.value[i] * b.value[j];
        }
    }
}

// sums = left rows · right rows, over the whole of their width. `work` has room for one turned tile of each. All
// threads must call it; afterwards `work` is free.
template <int R, class T, class LeftAt, class RightAt>
__device__ void multiply_rows(int width, int left_rows, LeftAt&& left_at, int right_rows, RightAt&& right_at, T* work,
                              T (&sums)[R][4]) {
    T* right = work + depth_tile * tile_stride(tile_lines * R);
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = 0;
    for (int first = 0; first < width; first += depth_tile) {
        load_turned<tile_lines * R>(left_rows, first, width, left_at, work);
        load_turned<key_tile>(right_rows, first, width, right_at, right);
        __syncthreads();
        multiply_turned(work, right, sums);
        __syncthreads();
    }
}

// sums += left (depth × 16 R, turned) · the rows that at(row, column) reads, of which the first 128 columns count. All
// threads must call it, after a barrier behind the writing of `left`; afterwards `work` and `left` are free.
template <int R, class T, class At>
__device__ void add_product(const T* left, int depth, int columns, At&& at, T* work, T (&sums)[R][column_groups][4]) {
    const int groups = ::min(column_groups, (columns + 63) / 64);
    for (int first = 0; first < depth; first += depth_tile) {
        load_straight(
            depth - first, columns, groups, [&](int row, int column) { return at(first + row, column); }, work);
        __syncthreads();
        multiply_straight(left + first * tile_stride(tile_lines * R), work, groups, sums);
        __syncthreads();
    }
}

// Room for the operands of either product.
template <int R>
constexpr int work_size() {
    constexpr int turned = depth_tile * (tile_stride(tile_lines * R) + tile_stride(key_tile));
    return turned > depth_tile * column_tile ? turned : depth_tile * column_tile;
}

// Calls body(row, column, value) for those of a thread's results that lie within rows × columns.
template <int R, class T, class Body>
__device__ void for_each_result(const T (&sums)[R][column_groups][4], int rows, int columns, Body&& body) {
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int group = 0; group < column_groups; ++group)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int row = thread_line() * R + i, column = group * 64 + thread_place() * 4 + j;
                if (row < rows && column < columns) body(row, column, sums[i][group][j]);
            }
}

}  // namespace tessera::kernels::cuda
