// Of a node's t-th random word the low half decides about column 2t and the high half about column
// 2t + 1: an element is dropped where its 32 bits are below 2^32 p. One multiplication an element
// is then most of the work.
#include "ramet/dropout.h"

#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int64_t kElementsAtOnce = int64_t{1}
                                    << 16;  // elements of a chunk, well above the cost of a thread

uint64_t key_of(const DropoutKey& key) {
  uint64_t k = static_cast<uint64_t>(Domain::kDropout);
  for (const uint64_t part : {key.seed, key.epoch, key.step, key.hop, key.salt, key.type_hash})
    k = absorb(k, part);
  return k;
}

void drop_row(uint64_t node_key, uint64_t below, int64_t width, bool* dropped) {
  for (int64_t c = 0; c + 1 < width; c += 2) {
    const uint64_t word = absorb(node_key, static_cast<uint64_t>(c) / 2);
    dropped[c] = (word & 0xffffffff) < below;
    dropped[c + 1] = (word >> 32) < below;
  }
  if (width % 2 == 0) return;
  const uint64_t word = absorb(node_key, static_cast<uint64_t>(width) / 2);
  dropped[width - 1] = (word & 0xffffffff) < below;
}

void check(size_t nodes, int64_t width, double p, size_t elements) {
  if (!(p >= 0 && p <= 1)) throw_invalid("dropout: p is ", p, "; it must lie in [0, 1]");
  if (width < 0 || elements != nodes * static_cast<size_t>(width)) {
    throw_invalid("dropout: a mask of ", elements, " elements for ", nodes, " rows of ", width);
  }
}

}  // namespace

void dropout_mask(const DropoutKey& key,
                  std::span<const int64_t> nodes,
                  int64_t width,
                  double p,
                  std::span<bool> dropped,
                  int threads) {
  check(nodes.size(), width, p, dropped.size());
  const uint64_t mask_key = key_of(key);
  const auto below = static_cast<uint64_t>(p * 0x1p32);  // exact but for the last step
  const int64_t rows_of_chunk = std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, width));
  parallel_for(static_cast<int64_t>(nodes.size()), rows_of_chunk, threads,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   drop_row(absorb(mask_key, static_cast<uint64_t>(nodes[static_cast<size_t>(i)])),
                            below, width, dropped.data() + i * width);
               });
}

}  // namespace ramet
