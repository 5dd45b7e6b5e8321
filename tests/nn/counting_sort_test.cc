// Sorts of so many edges that several threads have a part each, against a sort of one by one: the
// same positions for any number of threads.
#include "nn/counting_sort.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "nn/aggregation_cases.h"
#include "ramet/block_edges.h"
#include "support/ids.h"
#include "support/slow_build.h"

using namespace ramet;
using ramet::test::drawn_ids;

namespace {

constexpr int64_t kOfPart = int64_t{64} << 10;      // keys of the smallest part
constexpr int64_t kManyKeys = 5 * kOfPart / 2 + 7;  // whose positions are found in three chunks
const std::vector<int> kThreads = test::kSlowBuild ? std::vector{7} : std::vector{1, 2, 3, 7};

template <typename Key>
std::vector<int64_t> offsets_by_definition(std::span<const Key> keys, int64_t num_keys) {
  std::vector<int64_t> offsets(size_t(num_keys) + 1, 0);
  for (const Key key : keys)
    ++offsets[size_t(key) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

// Not by std::stable_sort, which sanitizers make slow.
template <typename Key>
std::vector<int64_t> order_by_definition(std::span<const Key> keys, int64_t num_keys) {
  std::vector<int64_t> next = offsets_by_definition(keys, num_keys), order(keys.size());
  for (size_t i = 0; i < keys.size(); ++i)
    order[size_t(next[size_t(keys[i])]++)] = int64_t(i);
  return order;
}

template <typename Key>
void check_sort(const std::vector<Key>& keys, int64_t num_keys, int threads) {
  CAPTURE(keys.size());
  CAPTURE(num_keys);
  CAPTURE(threads);
  std::vector<int64_t> offsets(size_t(num_keys) + 1, -1), order(keys.size(), -1);
  const CountingSort<Key> sort(keys, num_keys, offsets.data(), threads);
  std::atomic<int64_t> parts = 0, wild_guesses = 0;
  sort.visit([&](const auto& part) {
    ++parts;
    for (int64_t i = part.begin(); i < part.end(); ++i) {
      const int64_t guess = part.guess_ahead(i);
      if (guess < 0 || guess > std::ssize(keys)) ++wild_guesses;
      order[size_t(part.take(i))] = i;
    }
  });
  CHECK(parts == std::clamp<int64_t>(std::ssize(keys) / kOfPart, 1, threads));
  CHECK(wild_guesses == 0);
  CHECK(offsets == offsets_by_definition<Key>(keys, num_keys));
  CHECK(order == order_by_definition<Key>(keys, num_keys));
}

// Few edges, hubs and none, and enough for seven parts.
std::vector<Edges> few_and_many_edges() {
  std::vector<Edges> all = all_edges();
  all.emplace_back(5100, kManyKeys, [](int64_t d) { return d % 183; });
  all.emplace_back(9, 3, [](int64_t d) { return d == 4 ? 7 * kOfPart : d % 2; });
  return all;
}

}  // namespace

TEST_CASE("keys are sorted stably for any number of threads") {
  for (const int threads : kThreads) {
    for (const int64_t num_keys : {int64_t{1}, int64_t{3}, int64_t{1000}, kManyKeys})
      check_sort(drawn_ids<int32_t>(7 * kOfPart + 5, num_keys), num_keys, threads);
    check_sort(drawn_ids(2 * kOfPart, kManyKeys), kManyKeys, threads);
    check_sort(drawn_ids(2 * kOfPart - 1, 3), 3, threads);  // one part
    check_sort(drawn_ids<int32_t>(0, 1), kManyKeys, threads);
  }
}

TEST_CASE("edges are transposed once, and stably for any number of threads") {
  for (const Edges& edges : few_and_many_edges()) {
    const std::span<const int32_t> sources = edges.indices;
    const auto order = order_by_definition(sources, edges.num_src);
    const auto offsets = offsets_by_definition(sources, edges.num_src);
    std::vector<int32_t> destinations;
    for (const int64_t e : order) {
      const auto end_of_own = std::ranges::upper_bound(edges.indptr, e);
      destinations.push_back(static_cast<int32_t>(end_of_own - edges.indptr.begin() - 1));
    }
    for (const int threads : kThreads) {
      const BlockEdges block = edges.block();
      CHECK(!block.is_transposed());
      const BlockEdges::Transposed& found = block.transposed(threads);
      CHECK(block.is_transposed());
      CHECK(&found == &block.transposed(2));
      CHECK(std::ranges::equal(found.indptr.as<int64_t>(), offsets));
      CHECK(std::ranges::equal(found.indices.as<int32_t>(), destinations));
      CHECK(std::ranges::equal(found.edges.as<int32_t>(), order));
    }
  }
}

TEST_CASE("many edges are sorted by destination stably for any number of threads") {
  constexpr int64_t kCount = 7 * kOfPart + 5;
  for (const int64_t num_dst : {int64_t{3}, kManyKeys}) {
    std::vector<int64_t> ids = drawn_ids(2 * kCount, num_dst);
    const std::span<const int64_t> sources = std::span(ids).first(kCount),
                                   destinations = std::span(ids).last(kCount);
    const auto order = order_by_definition(destinations, num_dst);
    const auto offsets = offsets_by_definition(destinations, num_dst);
    for (const int threads : kThreads) {
      const Array edge_index{ids.data(), DType::kInt64, {2, kCount}, nullptr, false};
      const SortedEdges sorted = sort_edges(edge_index, num_dst, num_dst, threads);
      CHECK(std::ranges::equal(sorted.edges->indptr().as<int64_t>(), offsets));
      CHECK(std::ranges::equal(sorted.order.as<int64_t>(), order));
      CHECK(std::ranges::equal(sorted.edges->indices().as<int32_t>(), order, {}, {},
                               [&](int64_t e) { return sources[size_t(e)]; }));
    }
  }
}
