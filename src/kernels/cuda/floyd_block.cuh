// Floyd's algorithm (Bentley, Floyd: "A sample of brilliance", CACM 1987) for many picks of a row,
// by a block, in shared memory: its work grows with the picks, not with the in-edges.
//
// Step t draws x in [0, j], j = degree - k + t, and picks x, or j if x is picked already. That is
// so if an earlier step drew x, too, or if x is the j of an earlier step, and that picked its j.
// Sorted by x and step, equal draws stand side by side; references to a j are followed until
// nothing changes.
//
// Picks below degree - k are draws, which are sorted. The others are less than k numbers, a bit for
// each. So all picks are bits, in ascending order, and a bit's rank is the position of its pick.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/sort_block.cuh"

namespace ramet {

// For at most kMost picks.
template <int kMost>
struct FloydMemory {
  static constexpr int kWords = kMost / 32;
  unsigned long long draws[kMost];  // x, and the step in the low bits
  uint32_t takes_j[kWords];         // by step
  uint32_t picked[2 * kWords];      // by position among the sorted draws; then by j
  int before[2 * kWords];           // bits of `picked` before a word
  unsigned changed;
};

namespace floyd {

inline constexpr int kStepBits = 10;

struct Step {
  int64_t x;
  int t;
};

__device__ inline Step step_of(unsigned long long draw) {
  return {static_cast<int64_t>(draw >> kStepBits),
          static_cast<int>(draw & ((1u << kStepBits) - 1))};
}

__device__ inline bool has_bit(const uint32_t* words, int bit) {
  return (words[bit / 32] >> (bit % 32) & 1) != 0;
}
__device__ inline void set_bit(uint32_t* words, int bit) {
  atomicOr(&words[bit / 32], 1u << (bit % 32));
}
// While others set bits.
__device__ inline bool has_bit_now(uint32_t* words, int bit) {
  return (atomicOr(&words[bit / 32], 0u) >> (bit % 32) & 1) != 0;
}

// Which steps pick their j. The draws are sorted.
template <int kBlock, int kMost>
__device__ void find_steps_that_take_j(FloydMemory<kMost>& memory, int k, int64_t first_j) {
  for (int s = int(threadIdx.x) + 1; s < k; s += kBlock) {
    const Step step = step_of(memory.draws[s]);
    if (step_of(memory.draws[s - 1]).x == step.x) set_bit(memory.takes_j, step.t);
  }
  for (bool again = true; again;) {
    if (threadIdx.x == 0) memory.changed = 0;
    __syncthreads();
    for (int s = int(threadIdx.x); s < k; s += kBlock) {
      const Step step = step_of(memory.draws[s]);
      const int64_t whose_j = step.x - first_j;
      if (whose_j < 0 || whose_j >= step.t || !has_bit_now(memory.takes_j, int(whose_j)) ||
          has_bit_now(memory.takes_j, step.t))
        continue;
      set_bit(memory.takes_j, step.t);
      atomicOr(&memory.changed, 1u);
    }
    __syncthreads();
    again = memory.changed != 0;
    __syncthreads();
  }
}

template <int kBlock, int kMost>
__device__ void rank_picks(FloydMemory<kMost>& memory) {
  for (int word = int(threadIdx.x); word < 2 * memory.kWords; word += kBlock) {
    int count = 0;
    for (int w = 0; w < word; ++w)
      count += __popc(memory.picked[w]);
    memory.before[word] = count;
  }
  __syncthreads();
}

}  // namespace floyd

// k < degree distinct numbers below `degree`: store(position, pick), positions ascending as picks
// do. draw(t, n) is the t-th draw, below n. All kBlock threads call it, once in a kernel.
template <int kBlock, int kMost, typename Draw, typename Store>
__device__ void pick_by_floyd(
    FloydMemory<kMost>& memory, int k, int64_t degree, const Draw& draw, const Store& store) {
  using namespace floyd;
  static_assert(kMost <= 1 << kStepBits);
  const int64_t first_j = degree - k;
  const int thread = int(threadIdx.x);
  for (int t = thread; t < k; t += kBlock)
    memory.draws[t] = static_cast<unsigned long long>(draw(t, first_j + t + 1)) << kStepBits |
                      static_cast<unsigned>(t);
  for (int word = thread; word < memory.kWords; word += kBlock)
    memory.takes_j[word] = memory.picked[word] = memory.picked[memory.kWords + word] = 0;
  __syncthreads();
  sort_by_block(memory.draws, k);
  find_steps_that_take_j<kBlock>(memory, k, first_j);
  for (int s = thread; s < k; s += kBlock) {
    const Step step = step_of(memory.draws[s]);
    const int64_t above =
        has_bit(memory.takes_j, step.t) ? step.t : step.x - first_j;  // how far the pick is
    set_bit(memory.picked, above < 0 ? s : kMost + int(above));
  }
  __syncthreads();
  rank_picks<kBlock>(memory);
  for (int bit = thread; bit < 2 * kMost; bit += kBlock) {
    if (!has_bit(memory.picked, bit)) continue;
    const uint32_t lower = memory.picked[bit / 32] & ((1u << (bit % 32)) - 1);
    const int position = memory.before[bit / 32] + __popc(lower);
    store(position, bit < kMost ? step_of(memory.draws[bit]).x : first_j + (bit - kMost));
  }
}

}  // namespace ramet
