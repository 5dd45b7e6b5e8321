// The random function, beside generators that keep a state: draws below a bound with a key of each
// draw's own, and a shuffle evaluated position by position.
#include <algorithm>
#include <numeric>
#include <random>

#include "base/permutation.h"
#include "cases.h"
#include "ramet/random.h"

namespace ramet::bench {
namespace {

constexpr uint64_t kBound = 48;
constexpr int64_t kCount = 1 << 16;

void draw_keyed(benchmark::State& state) {
  const uint64_t key = step_key(1, 2, 3);
  uint64_t sum = 0;
  for (auto _ : state) {
    for (int64_t node = 0; node < kCount; ++node)
      sum += uniform_below(node_key(key, node), kBound);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

template <typename Generator>
void draw_in_sequence(benchmark::State& state) {
  Generator generator(1);
  std::uniform_int_distribution<uint64_t> below(0, kBound - 1);
  uint64_t sum = 0;
  for (auto _ : state) {
    for (int64_t i = 0; i < kCount; ++i)
      sum += below(generator);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

void permute(benchmark::State& state) {
  const Permutation order(kCount - 1, 7);  // not a power of two
  std::vector<int64_t> out(kCount - 1);
  for (auto _ : state) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = order(static_cast<int64_t>(i));
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * (kCount - 1));
}

void shuffle(benchmark::State& state) {
  std::mt19937_64 generator(1);
  std::vector<int64_t> out(kCount - 1);
  for (auto _ : state) {
    std::iota(out.begin(), out.end(), 0);
    std::shuffle(out.begin(), out.end(), generator);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * (kCount - 1));
}

}  // namespace

void add_random(const Options&) {
  add("random/draw below 48", "ramet", draw_keyed);
  add("random/draw below 48", "mt19937_64", draw_in_sequence<std::mt19937_64>);
  add("random/draw below 48", "minstd", draw_in_sequence<std::minstd_rand>);
  add("random/shuffle 65,535", "ramet", permute);
  add("random/shuffle 65,535", "std::shuffle", shuffle);
}

}  // namespace ramet::bench
