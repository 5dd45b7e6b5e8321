#include "base/digest.h"

#include <algorithm>
#include <bit>
#include <span>

#include "ramet/random.h"

namespace ramet {

namespace {

// word_of(value) is what is absorbed of an entry.
template <typename Value, typename WordOf>
uint64_t digest_some(uint64_t key, std::span<const Value> values, WordOf&& word_of) {
  constexpr uint64_t kSamples = 1024;
  const uint64_t n = values.size();
  const uint64_t samples = std::min(n, kSamples);
  uint64_t h = absorb(key, n);
  for (uint64_t i = 0; i < samples; ++i) {
    const auto position = static_cast<size_t>(static_cast<uint128_t>(i) * n / samples);
    h = absorb(h, word_of(values[position]));
  }
  return h;
}

}  // namespace

uint64_t digest_ids(uint64_t key, const Array& ids) {
  return with_ids(ids, [&](auto values) {
    return digest_some(key, values, [](int64_t id) { return static_cast<uint64_t>(id); });
  });
}

uint64_t digest_weights(uint64_t key, const Array& weights) {
  const auto bits = [](double weight) { return std::bit_cast<uint64_t>(weight); };
  return weights.dtype == DType::kFloat32 ? digest_some(key, weights.as<float>(), bits)
                                          : digest_some(key, weights.as<double>(), bits);
}

}  // namespace ramet
