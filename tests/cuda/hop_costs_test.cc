// What a hop asks of a device: the table of docs/cuda.md, "What a hop costs". Each launch takes
// microseconds, and in each wait the device stands still.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "emulator/counts.h"
#include "support/cooperative_fixture.h"

namespace ramet::test {
namespace {

struct Costs {
  int64_t kernels, sums, waits;
  bool operator==(const Costs&) const = default;
  Costs operator-(const Costs& other) const {
    return {kernels - other.kernels, sums - other.sums, waits - other.waits};
  }
};

std::ostream& operator<<(std::ostream& out, const Costs& costs) {
  return out << costs.kernels << " kernels, " << costs.sums << " sums, " << costs.waits << " waits";
}

Costs asked_so_far() {
  const emulator::Counts& counts = emulator::counts();
  return {counts.kernels, counts.sums, counts.waits};
}

// Of a batch of so many hops.
Costs costs_of(const std::shared_ptr<const Graph>& graph,
               SampleOptions options,
               std::vector<int64_t> fanouts,
               RowOrder order) {
  options.fanouts = {std::move(fanouts)};
  DeviceSampler sampler(graph, options, Location::kInPlace, order);
  const std::vector<int64_t> ids{7, 5, 100};
  const Seeds seeds{0, ids, options.time ? ids : std::span<const int64_t>()};
  (void)sampler.sample(seeds, 0, 0);  // scratch memory grows
  const Costs before = asked_so_far();
  (void)sampler.sample(seeds, 0, 0);
  return asked_so_far() - before;
}

Costs costs_of_a_hop(const SampleOptions& options, int64_t fanout, RowOrder order) {
  static const auto graph = weighted_graph<float>(2000, 60'000, 5);
  const Costs one = costs_of(graph, options, {fanout}, order);
  const Costs two = costs_of(graph, options, {fanout, fanout}, order);
  return two - one;
}

// Of a batch of two ranks that cooperate; the fixture's copies of messages are not counted.
Costs costs_of_ranks(const std::shared_ptr<const Graph>& graph, std::vector<int64_t> fanouts) {
  SampleOptions options;
  options.fanouts = {std::move(fanouts)};
  Ranks ranks(graph, options, by_hash(*graph, 2), 1,
              {CudaGraph::create(graph, 0, Location::kInPlace), DevicePool::create(0)});
  const std::vector<int64_t> seeds{7, 5, 100, 11, 3};
  (void)ranks.sample(0, seeds);
  Costs start = asked_so_far();
  std::optional<Messages> sent = ranks.start(0, seeds);
  while (sent) {
    const Costs before = asked_so_far();
    const Messages arrived = deliver(*sent);
    start = start - (before - asked_so_far());
    sent = ranks.receive(arrived);
  }
  return asked_so_far() - start;
}

TEST_CASE("a hop takes as many launches and waits as the docs say") {
  const auto check_options = [](const SampleOptions& options, int64_t fanout, Costs as_given,
                                Costs sorted) {
    CAPTURE(fanout);
    CHECK(costs_of_a_hop(options, fanout, RowOrder::kAsGiven) == as_given);
    CHECK(costs_of_a_hop(options, fanout, RowOrder::kSorted) == sorted);
  };
  const auto check = [&](const Method& method, int64_t fanout, Costs as_given, Costs sorted) {
    check_options({.fanouts = {}, .method = method}, fanout, as_given, sorted);
  };
  check(Uniform{}, 10, {5, 2, 2}, {9, 4, 2});
  check(Uniform{}, 100, {5, 2, 2}, {9, 4, 2});
  check(Uniform{}, -1, {6, 2, 2}, {9, 4, 2});
  check(Uniform{}, 1200, {9, 3, 3}, {13, 5, 3});
  check(Uniform{.replace = true}, 10, {7, 2, 2}, {10, 4, 2});
  check(Weighted{.table = "w"}, 10, {12, 3, 3}, {16, 5, 3});
  check(Weighted{.table = "w", .replace = true}, 10, {9, 3, 3}, {12, 5, 3});
  check(Labor{}, 10, {10, 3, 3}, {14, 5, 3});
  check(Labor{.iterations = 1}, 10, {20, 4, 4}, {24, 6, 4});
  check(Labor{.table = "w"}, 10, {19, 5, 4}, {23, 7, 4});
  check(Labor{.iterations = 1, .table = "w"}, 10, {28, 6, 5}, {32, 8, 5});
  SampleOptions trees{.fanouts = {}, .disjoint = true};
  check_options(trees, 10, {7, 2, 2}, {10, 4, 2});
  trees.time = Time{.table = "time"};
  check_options(trees, 10, {13, 4, 3}, {16, 6, 3});
}

TEST_CASE("a hop of ranks that cooperate takes as many more as the docs say") {
  const auto graph = uneven_graph(2000, 60'000, 5);
  const Costs of_a_hop = costs_of_ranks(graph, {10, 10}) - costs_of_ranks(graph, {10});
  CHECK(of_a_hop - Costs{2 * 5, 2 * 2, 2 * 2} == Costs{2 * (7 + 2), 2 * 2, 2 * 4});
}

}  // namespace
}  // namespace ramet::test
