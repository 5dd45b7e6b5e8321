// The accumulation of XXH3 (Collet: "xxHash fast digest algorithm", specification, section XXH3):
// eight lanes of 64 bits each add a word, and the product of the halves of that word mixed with a
// key. Every word also enters its neighbor's lane as it is, so that a product of zero loses
// nothing. Compilers make vector code of the loop. Here the keys are this project's own, and so is
// the hash.
//
// Blocks of 1 MiB are hashed by any thread; the hash of their hashes, in order, is the result.
#include "ramet/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kStripe = kLanes * sizeof(uint64_t);  // bytes that all lanes take at once
constexpr size_t kScrambled = 16;                      // stripes between two scrambles
constexpr int64_t kBlock = int64_t{1} << 20;

using Lanes = std::array<uint64_t, kLanes>;

// Keys for the stripes between two scrambles; the next one's are shifted by a word.
constexpr auto kKeys = [] {
  std::array<uint64_t, kLanes + kScrambled> keys{};
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = absorb(0, i);
  return keys;
}();

void add_stripe(Lanes& lanes, const std::byte* stripe, const uint64_t* keys) {
  Lanes words;
  std::memcpy(words.data(), stripe, kStripe);
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t mixed = words[i] ^ keys[i];
    lanes[i] += words[i ^ 1] + (mixed & 0xffffffff) * (mixed >> 32);
  }
}

void scramble(Lanes& lanes) {
  constexpr uint64_t kPrime = 0x9e3779b1;
  for (size_t i = 0; i < kLanes; ++i)
    lanes[i] = (lanes[i] ^ (lanes[i] >> 47) ^ kKeys[kScrambled + i]) * kPrime;
}

uint64_t fold(uint64_t key, const Lanes& lanes) {
  for (const uint64_t lane : lanes)
    key = absorb(key, lane);
  return key;
}

ContentHash hash_block(std::span<const std::byte> block) {
  Lanes lanes{};
  const size_t stripes = block.size() / kStripe;
  const std::byte* at = block.data();
  for (size_t stripe = 0; stripe < stripes; ++stripe, at += kStripe) {
    add_stripe(lanes, at, kKeys.data() + stripe % kScrambled);
    if (stripe % kScrambled == kScrambled - 1) scramble(lanes);
  }
  std::array<std::byte, kStripe> rest{};
  std::copy(at, block.data() + block.size(), rest.begin());
  add_stripe(lanes, rest.data(), kKeys.data() + stripes % kScrambled);
  scramble(lanes);
  const ContentHash first{fold(block.size(), lanes), 0};
  std::reverse(lanes.begin(), lanes.end());
  return {first[0], fold(~first[0], lanes)};
}

}  // namespace

ContentHash content_hash(std::span<const std::byte> bytes, int threads) {
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<ContentHash> blocks(static_cast<size_t>((size + kBlock - 1) / kBlock));
  parallel_for(size, kBlock, threads, [&](int64_t begin, int64_t end) {
    blocks[static_cast<size_t>(begin / kBlock)] =
        hash_block(bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  ContentHash result = hash_block(std::as_bytes(std::span(blocks)));
  result[0] = absorb(result[0], bytes.size());
  return result;
}

}  // namespace ramet
