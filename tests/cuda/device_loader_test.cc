// Batches of a device against those of the CPU, byte for byte, wherever tables and topology are.
// Each placement, encodings, caches and what is decided are tested by
// tests/python/cuda/test_loader.py.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "cuda/on_host.h"
#include "cuda/sampling_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "ramet/random.h"
#include "support/graph_fixture.h"
#include "support/rank_threads.h"
#include "support/slow_build.h"
#include "support/streams.h"
#include "support/threads.h"

using namespace ramet;

namespace {

// Node types "a" and "b", three edge types, float16 rows of an odd width, labels, and rows of
// edges.
std::shared_ptr<const Graph> make_typed_graph() {
  StoreContents contents;
  contents.node_counts = {{"a", 300}, {"b", 200}};
  const auto add = [&](const std::string& type, int64_t src, int64_t dst, uint64_t key) {
    const auto edges = test::random_edges(src, dst, 2000, key);
    test::add_edges(contents, type, test::csc_of(edges, src, dst));
  };
  add("a__x__a", 300, 300, 1);
  add("a__y__b", 300, 200, 2);
  add("b__z__a", 200, 300, 3);
  const auto add_table = [&](const std::string& name, int64_t rows, int64_t width, DType dtype) {
    Array table = BufferPool::create()->allocate_array(dtype, {rows, width});
    auto* byte = static_cast<uint8_t*>(table.data);
    for (int64_t i = 0; i < table.bytes(); ++i)
      byte[i] = static_cast<uint8_t>(mix64(static_cast<uint64_t>(i + rows)) & 0x3b);
    contents.arrays.emplace_back(name, table);
  };
  add_table("node/a/feat", 300, 7, DType::kFloat16);
  add_table("node/b/feat", 200, 25, DType::kFloat32);
  add_table("node/a/label", 300, 1, DType::kInt64);
  add_table("edge/a__y__b/attr", 2000, 3, DType::kFloat16);
  add_table("edge/b__z__a/weight", 2000, 1, DType::kInt64);
  return test::graph_of(contents);
}

LoaderOptions base_options() {
  LoaderOptions options;
  options.sample = {{{4, 3}, {2, 2}, {3, 5}}, Uniform{}, 5};
  options.batch_size = 33;
  options.shuffle = true;
  options.threads = 1;
  options.tables = {{0, "feat", false},
                    {1, "feat", false},
                    {0, "label", true},
                    {.name = "attr", .edge_type = 1},
                    {.name = "weight", .edge_type = 2}};
  return options;
}

LoaderOptions batches_on_device(Location topology, Location tables) {
  LoaderOptions options = base_options();
  options.device.index = 0;
  options.device.topology = topology;
  options.device.tables.assign(options.tables.size(), tables);
  return options;
}

std::vector<Batch> run_epoch(const NeighborLoader& loader, int64_t epoch) {
  return test::rest_of(*loader.start(epoch));
}

void require_equal(const Array& expected, const Array& got) {
  REQUIRE((got.data == nullptr || got.device == 0));
  test::require_same(expected, got.data == nullptr ? got : test::on_host(got));
}

void require_equal(const Batch& expected, const Batch& got) {
  REQUIRE(got.step == expected.step);
  test::require_same(expected.input_id, got.input_id);
  for (const Array& nodes : got.minibatch.n_id)
    REQUIRE(nodes.device == 0);
  test::require_same(expected.minibatch, to_host(got.minibatch));
  REQUIRE(got.tables.size() == expected.tables.size());
  for (size_t i = 0; i < expected.tables.size(); ++i)
    require_equal(expected.tables[i], got.tables[i]);
}

void require_equal(const std::vector<Batch>& expected, const std::vector<Batch>& got) {
  REQUIRE(got.size() == expected.size());
  for (size_t s = 0; s < expected.size(); ++s)
    require_equal(expected[s], got[s]);
}

}  // namespace

TEST_CASE("hops that are one graph, and disjoint trees, are sampled for a device, too") {
  const auto graph = make_typed_graph();
  for (const bool disjoint : {false, true}) {
    const auto change = [&](LoaderOptions options) {
      options.sample.expand = Expand::kOnce;
      options.sample.disjoint = disjoint;
      options.tables[2].at_seeds = false;
      return options;
    };
    const auto expected = run_epoch(NeighborLoader(graph, change(base_options())), 2);
    for (const Location tables : {Location::kDevice, Location::kInPlace, Location::kStaged}) {
      const NeighborLoader loader(graph, change(batches_on_device(Location::kAuto, tables)));
      const auto batches = run_epoch(loader, 2);
      require_equal(expected, batches);
      for (size_t s = 0; s < expected.size(); ++s) {
        REQUIRE(batches[s].minibatch.merged);
        for (size_t t = 0; t < expected[s].minibatch.trees.size(); ++t)
          require_equal(expected[s].minibatch.trees[t], batches[s].minibatch.trees[t]);
      }
      const Batch& last = expected.back();
      require_equal(last, loader.make(last.input_id.as<int64_t>(), 2, last.step));
    }
  }
}

TEST_CASE("several threads, each with a stream, give the same batches; LABOR, too") {
  const auto graph = make_typed_graph();
  LoaderOptions host = base_options();
  host.sample.method = Labor{};
  const auto expected = run_epoch(NeighborLoader(graph, host), 0);
  for (const Location topology : {Location::kDevice, Location::kInPlace, Location::kStaged}) {
    LoaderOptions options = batches_on_device(topology, Location::kInPlace);
    options.sample.method = Labor{};
    options.threads = 3;
    require_equal(expected, run_epoch(NeighborLoader(graph, options), 0));
  }
}

TEST_CASE("ranks that cooperate, each with threads of its own, make the batches of their hosts") {
  constexpr int kRanks = 2;
  const auto graph = make_typed_graph();
  const auto batches_of = [&](const LoaderOptions& options) {
    std::vector<std::vector<Batch>> of_ranks(kRanks);
    test::Mail mail(kRanks);
    test::in_threads(kRanks, [&](int rank) {
      LoaderOptions of_rank = options;
      of_rank.prefetch = 3;
      of_rank.cooperative.membership = {test::by_hash(*graph, kRanks), rank};
      const CooperativeLoader loader(NeighborLoader(graph, of_rank),
                                     *of_rank.cooperative.membership);
      const auto at = static_cast<size_t>(rank);
      of_ranks[at] =
          test::rest_of(*loader.start(1, 0, std::make_shared<test::RankThread>(mail, at)));
    });
    return of_ranks;
  };
  const auto expected = batches_of(base_options());
  const std::pair<Location, Location> places[] = {{Location::kDevice, Location::kStaged},
                                                  {Location::kInPlace, Location::kDevice},
                                                  {Location::kStaged, Location::kInPlace}};
  for (const auto& [topology, tables] : places) {
    const auto given = batches_of(batches_on_device(topology, tables));
    for (size_t rank = 0; rank < kRanks; ++rank)
      require_equal(expected[rank], given[rank]);
  }
}

TEST_CASE("why the CPU samples is told") {
  const auto graph = make_typed_graph();
  LoaderOptions options = batches_on_device(Location::kAuto, Location::kAuto);
  options.sample.method = Budget{.nodes_per_tree = 5};
  options.sample.expand = Expand::kOnce;
  options.sample.disjoint = true;
  const char* const why = "sampling by a budget of nodes runs on the CPU";
  const PlacementDecision placed = NeighborLoader(graph, options).placement()[0];
  CHECK(placed.placement == Location::kStaged);
  CHECK(placed.why == why);
  options.device.topology = Location::kDevice;
  CHECK_THROWS_WITH_AS(NeighborLoader(graph, options), doctest::Contains(why), Error);
}

TEST_CASE("batches of a stream that stops while it samples leave nothing behind") {
  constexpr int kStops = test::kSlowBuild ? 1 : 10;
  const auto graph = make_typed_graph();
  for (const Location topology : {Location::kDevice, Location::kStaged}) {
    LoaderOptions options = batches_on_device(topology, Location::kInPlace);
    options.sample.fanouts = {{4}, {2}, {3}};  // one hop, so that most stops come in it or after it
    options.threads = 3;
    const NeighborLoader loader(graph, options);
    for (int epoch = 0; epoch < kStops; ++epoch) {
      const auto batch = loader.start(epoch)->next(test::kPatience);
      REQUIRE(batch);
    }
    CHECK(loader.device_pool()->bytes_in_use() == 0);
  }
}

TEST_CASE("a device that is not there, and placements that do not fit, are errors") {
  const auto graph = make_typed_graph();
  LoaderOptions options = batches_on_device(Location::kAuto, Location::kAuto);
  options.device.index = 99;
  CHECK_THROWS_AS(NeighborLoader(graph, options), Error);
  options = batches_on_device(Location::kAuto, Location::kAuto);
  options.device.tables.pop_back();
  CHECK_THROWS_AS(NeighborLoader(graph, options), Error);
}
