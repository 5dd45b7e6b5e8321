// The only source of randomness: a pure function of a 64-bit key and a counter. Draws never depend
// on threads, processes or the order of work. docs/semantics.md, section 2.
//
// mix64 is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
// number generators", OOPSLA 2014; constants are Stafford's variant 13). absorb(key, v) is the
// v-th output of the SplitMix64 stream that starts at `key`; chained, it turns a tuple into a key.
// Integers only: the same bits on every machine. C++17-clean, so that a CUDA file can read it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ramet {

__extension__ typedef unsigned __int128 uint128_t;

inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t absorb(uint64_t key, uint64_t value) {
  return mix64(key + kGolden * (value + 1));
}

// FNV-1a, for type names: an edge type enters a key by its name, never by its index.
constexpr uint64_t hash_name(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name)
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

// Uniform on [0, n), n >= 1, from the random word r; exactly uniform, also for hubs: Lemire's
// multiply-shift with rejection ("Fast random integer generation in an interval", 2019). A
// rejected r (probability below n / 2^64) is replaced by mix64(r + golden).
constexpr uint64_t uniform_below(uint64_t r, uint64_t n) {
  auto product = static_cast<uint128_t>(r) * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t threshold = (0 - n) % n;
    while (static_cast<uint64_t>(product) < threshold) {
      r = mix64(r + kGolden);
      product = static_cast<uint128_t>(r) * n;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

// floor(r n / 2^64): almost uniform on [0, n).
constexpr uint64_t scaled_below(uint64_t r, uint64_t n) {
  return static_cast<uint64_t>((static_cast<uint128_t>(r) * n) >> 64);
}

// The use of a key: its first absorbed word, so that two uses of one seed never share a stream.
// Uses of two seeds may (docs/semantics.md, section 2).
enum class Domain : uint64_t {
  kSample = 1,
  kShuffle = 2,
  kGenerate = 3,
  kFingerprint = 4,
  kSplitByClass = 5,  // of ramet.build in Python
  kOwnership = 6,
  kDropout = 7,
  kInit = 8,      // of tables
  kRounding = 9,  // of weights
  kWalk = 10,
  kNegative = 11,
  kSubgraph = 14,  // of GraphSAINT
};

// The key of one step: (domain, seed, epoch, step).
constexpr uint64_t step_key(uint64_t seed, uint64_t epoch, uint64_t step) {
  const auto domain = static_cast<uint64_t>(Domain::kSample);
  return absorb(absorb(absorb(domain, seed), epoch), step);
}

// The key of one destination's draws: (step key, hop, edge type, node).
constexpr uint64_t hop_key(uint64_t step_key, uint64_t hop, uint64_t edge_type_hash) {
  return absorb(absorb(step_key, hop), edge_type_hash);
}
constexpr uint64_t node_key(uint64_t hop_key, int64_t node) {
  return absorb(hop_key, static_cast<uint64_t>(node));
}

// As a number of neighbors to draw: every one.
inline constexpr int64_t kAllNeighbors = -1;

}  // namespace ramet
