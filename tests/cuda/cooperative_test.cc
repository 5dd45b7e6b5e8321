// Ranks that cooperate, whose devices draw and exchange ids: their messages and minibatches are
// those of ranks on processors, bit for bit. docs/semantics.md, sections 10 and 12.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "cuda/timed_graph.h"
#include "ramet/error.h"
#include "support/cooperative_fixture.h"
#include "support/errors.h"

namespace ramet::test {
namespace {

constexpr int64_t kRanks = 3;

DrawingDevice device_of(const std::shared_ptr<const Graph>& graph, RowOrder order) {
  return {CudaGraph::create(graph, 0, Location::kDevice), DevicePool::create(0), order};
}

std::vector<Array> arrays_of(const Minibatch& batch) {
  std::vector<Array> arrays;
  for_each_array(batch, [&](const Array& array) { arrays.push_back(array); });
  return arrays;
}

void check_against_host(const std::shared_ptr<const Graph>& graph,
                        SampleOptions options,
                        int seed_type = 0) {
  options.fanouts.resize(graph->edge_types().size(), {4, 3, 2});
  for (const Expand expand : {Expand::kEvery, Expand::kOnce}) {
    options.expand = expand;
    const Owners owners =
        expand == Expand::kEvery ? by_hash(*graph, kRanks) : by_ranges(*graph, kRanks);
    Ranks on_host(graph, options, owners);
    Ranks on_device(graph, options, owners, 1, device_of(graph, RowOrder::kSorted));
    for (uint64_t step = 0; step < 2; ++step) {
      // A batch that is given up in the middle leaves nothing behind.
      if (step == 1 && !options.fanouts[0].empty())
        on_device.receive(deliver(on_device.start(seed_type, kSeeds, 1, 5)));
      const auto expected = on_host.sample(seed_type, kSeeds, 1, step);
      const auto given = on_device.sample(seed_type, kSeeds, 1, step);
      for (size_t rank = 0; rank < expected.size(); ++rank) {
        CAPTURE(rank);
        for (const Block& block : given[rank].blocks)
          REQUIRE(block.relations[0].indptr.device == 0);
        const Minibatch copied = to_host(given[rank]);
        require_same(expected[rank], copied);
        const auto theirs = arrays_of(expected[rank]), ours = arrays_of(copied);
        REQUIRE(ours.size() == theirs.size());
        for (size_t i = 0; i < ours.size(); ++i)
          require_same(theirs[i], ours[i]);
      }
    }
  }
}

// `of_hub`: the owner of node 3.
Owners by_wide_vector(const Graph& graph, uint16_t of_hub) {
  const int64_t num_nodes = graph.node_types()[0].num_nodes;
  Array vector = BufferPool::create()->allocate_array(DType::kUInt16, {num_nodes});
  for (int64_t v = 0; v < num_nodes; ++v)
    static_cast<uint16_t*>(vector.data)[v] = v == 3 ? of_hub : static_cast<uint16_t>(v % kRanks);
  return {Ownership::by_vector(vector, kRanks)};
}

}  // namespace

TEST_CASE("ranks whose devices draw make the minibatches of processors") {
  const auto graph = uneven_graph(300, 2800, 11);
  check_against_host(graph, {{}, Uniform{}, 77});
  check_against_host(graph, {{{-1, 2}}, Uniform{.replace = true}, 78});
  check_against_host(graph, {.fanouts = std::vector<std::vector<int64_t>>(1)});  // no hops
  for (const int64_t iterations : {0, 1, 3})
    check_against_host(graph, {{}, Labor{.iterations = iterations}, 79});
  const auto weighted = weighted_graph<float>(300, 2800, 12);
  check_against_host(weighted, {{}, Weighted{"w"}, 80});
  check_against_host(weighted, {{}, Labor{.iterations = 2, .table = "w"}, 81});
  check_against_host(typed_graph(13), {.fanouts = {}, .seed = 81, .dependent = 3}, 1);
}

TEST_CASE("messages of ranks whose devices draw are those of processors, and so are errors") {
  const auto graph = uneven_graph(300, 2800, 11);
  const SampleOptions options{{{-1, 3}}, Uniform{}, 77};
  const auto narrow = by_vector(*graph, kRanks, [](int64_t v) { return v * 7 % 13 % kRanks; });
  for (const Owners& owners : {by_hash(*graph, kRanks), by_ranges(*graph, kRanks), narrow,
                               by_wide_vector(*graph, 2), by_wide_vector(*graph, 4)}) {
    Ranks on_host(graph, options, owners);
    Ranks on_device(graph, options, owners, 1, device_of(graph, RowOrder::kAsGiven));
    // The last vector's entry of the hub is no rank.
    const std::vector<int64_t> seeds{5, 7, 299, 100, 11, 250};
    Messages sent, given;
    const std::string problem =
        message_of(ErrorCode::kCorrupt, [&] { sent = on_host.start(0, seeds); });
    REQUIRE(message_of(ErrorCode::kCorrupt, [&] { given = on_device.start(0, seeds); }) == problem);
    REQUIRE(sent.size() == given.size());
    REQUIRE(sent.empty() == !problem.empty());
    for (size_t rank = 0; rank < sent.size(); ++rank) {
      REQUIRE(given[rank].data.device == 0);
      REQUIRE(given[rank].bytes == sent[rank].bytes);
      REQUIRE(sent_bytes(given[rank].data) == sent_bytes(sent[rank].data));
    }
    if (sent.empty()) continue;
    const auto check_wrong = [&](const auto& change) {
      Messages wrong = deliver(sent);
      std::string bytes = sent_bytes(wrong[1].data);
      change(wrong[1].bytes, bytes);
      const auto said = [&](Ranks& ranks, int device) {
        wrong[1].data = bytes_from(bytes, device);
        (void)ranks.start(0, seeds);
        return message_of(ErrorCode::kCorrupt, [&] { (void)ranks[1].receive(wrong[1]); });
      };
      const std::string expected = said(on_host, kHost);
      REQUIRE_FALSE(expected.empty());
      REQUIRE(said(on_device, 0) == expected);
    };
    for (const int32_t node : {-1, 300, std::numeric_limits<int32_t>::min()})
      check_wrong([&](const auto& /*sizes*/, std::string& bytes) {
        std::memcpy(bytes.data() + sizeof(int64_t), &node, sizeof(node));
      });
    for (const int64_t count : {int64_t{-1}, int64_t{1} << 40})
      check_wrong([&](const auto& /*sizes*/, std::string& bytes) {
        std::memcpy(bytes.data(), &count, sizeof(count));
      });
    check_wrong([&](std::vector<int64_t>& sizes, std::string& /*bytes*/) { sizes[0] = 7; });
    check_wrong([&](std::vector<int64_t>& sizes, std::string& /*bytes*/) { sizes[2] += 8; });
  }
}

TEST_CASE("budgets are for processors alone, also where ranks cooperate") {
  const auto graph = uneven_graph(300, 2800, 13);
  const SampleOptions options{{{5}}, Budget{}, 3, 1, Expand::kOnce};
  CHECK_THROWS_WITH_AS(
      Ranks(graph, options, by_hash(*graph, kRanks), 1, device_of(graph, RowOrder::kSorted)),
      "sampling by a budget of nodes runs on the CPU, not on a device", Error);
}

// docs/semantics.md, sections 10, 15 and 16.
TEST_CASE("disjoint trees of ranks whose devices draw are those of processors") {
  const auto graph = timed_graph(false, Rows::kUnsorted);
  const auto check = [](const std::shared_ptr<const Graph>& of, const Method& method,
                        const std::optional<Time>& time = {}, int seed_type = 0) {
    check_against_host(of, {.fanouts = {}, .method = method, .disjoint = true, .time = time},
                       seed_type);
  };
  check(graph, Uniform{});
  check(graph, Uniform{.replace = true});
  check(graph, Labor{});
  check(graph, Labor{.iterations = 2});
  check(typed_graph(13), Uniform{}, {}, 1);
  for (const Rows rows : {Rows::kSorted, Rows::kUnsorted}) {
    const auto timed = timed_graph(false, rows);
    check(timed, Weighted{"w"}, Time{.table = "time"});
    check(timed, Labor{.iterations = 1}, Time{.table = "time"});
    for (const Comparison comparison : {Comparison::kAtMost, Comparison::kAfter})
      check(timed, Uniform{}, Time{.table = "time", .comparison = comparison, .monotonic = true});
    check(timed, Uniform{}, Time{.table = "time", .strategy = Strategy::kLast, .window = 60});
  }
}

}  // namespace ramet::test
