#include "base/digest.h"

#include <algorithm>

#include "ramet/random.h"

namespace ramet {

uint64_t digest_ids(uint64_t key, const Array& ids) {
  constexpr uint64_t kSamples = 1024;
  return with_ids(ids, [&](auto values) {
    const uint64_t n = values.size();
    const uint64_t samples = std::min(n, kSamples);
    uint64_t h = absorb(key, n);
    for (uint64_t i = 0; i < samples; ++i) {
      const auto position = static_cast<size_t>(static_cast<uint128_t>(i) * n / samples);
      h = absorb(h, static_cast<uint64_t>(static_cast<int64_t>(values[position])));
    }
    return h;
  });
}

}  // namespace ramet
