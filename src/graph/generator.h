// What the generators share: keys, conversions of random words, checks, splits. Every number is
// drawn from a key of its own (node, edge), so chunks may run on any thread. Integer draws and
// + - x / only: the same bits on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/csc.h"
#include "ramet/error.h"
#include "ramet/store_writer.h"

namespace ramet::generator {

inline constexpr int64_t kEdgeGrain = 1 << 16;
inline constexpr int64_t kRowGrain = 1 << 10;

// What a draw is for, so that no two share a key.
enum Purpose : uint64_t { kEdges, kRanks, kMeans, kNoise, kSplit, kQuadrants, kScramble };

uint64_t purpose_key(uint64_t seed, Purpose purpose);

// Uniform on [0, 1) from the upper 53 bits.
inline double unit(uint64_t r) {
  return static_cast<double>(r >> 11) * 0x1p-53;
}

// Mean 0, variance 1: the sum of four uniforms, close enough to a normal for noise.
inline float noise(uint64_t r) {
  const auto sum =
      static_cast<int64_t>((r & 0xffff) + ((r >> 16) & 0xffff) + ((r >> 32) & 0xffff) + (r >> 48));
  constexpr float kScale = 1.7320508F / 65536.0F;  // four uniforms on [0, 1) have variance 1/3
  return (static_cast<float>(sum) - 131070.0F) * kScale;
}

// kInvalidArgument unless ok.
template <typename... Parts>
void require(bool ok, const Parts&... what) {
  if (!ok) throw_invalid("generate: ", what...);
}

Array allocate(DType dtype, std::vector<int64_t> shape);
Array ids_array(const std::vector<int32_t>& ids);

// Node type and topology of a homogeneous graph that was made undirected.
StoreContents contents_of(int64_t num_nodes, Csc csc);

}  // namespace ramet::generator
