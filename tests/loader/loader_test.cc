// Rows of nodes, of edges and of given tables are compared by tests/python/loading.
#include "ramet/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "loader/loader_fixture.h"
#include "ramet/error.h"
#include "ramet/fingerprint.h"
#include "support/errors.h"
#include "support/fingerprints.h"
#include "support/fork.h"
#include "support/graph_fixture.h"
#include "support/streams.h"

using namespace ramet;
using namespace ramet::test;

namespace {

std::string fingerprint_of(const Graph& graph, const Batch& batch) {
  return test::fingerprint_of(graph, batch.minibatch);
}

}  // namespace

TEST_CASE("batches come in order and are the same for any number of threads") {
  const auto graph = make_graph(1000, 9000, 1);
  const auto expected = run_epoch(NeighborLoader(graph, options_for(1)), 3);
  CHECK(expected.size() == 31);
  for (const int threads : {2, 8}) {
    const auto batches = run_epoch(NeighborLoader(graph, options_for(threads)), 3);
    REQUIRE(batches.size() == expected.size());
    for (size_t s = 0; s < batches.size(); ++s) {
      REQUIRE(batches[s].step == static_cast<int64_t>(s));
      REQUIRE(fingerprint_of(*graph, batches[s]) == fingerprint_of(*graph, expected[s]));
    }
  }
}

TEST_CASE("edges are made ahead where each node is expanded once") {
  const auto graph = make_graph(500, 3000, 2);
  LoaderOptions options = options_for(2);
  options.edges_ahead = true;
  CHECK(run_epoch(NeighborLoader(graph, options), 0)[0].edges.empty());
  options.sample.expand = Expand::kOnce;
  for (const Batch& batch : run_epoch(NeighborLoader(graph, options), 0)) {
    REQUIRE(batch.edges.size() == 1);
    const Array edge_index = merged_edge_index(*graph, batch.minibatch, 0);
    CHECK(std::ranges::equal(batch.edges[0].edge_index.as<int64_t>(), edge_index.as<int64_t>()));
    const Array edge_ids = merged_edge_ids(*graph, batch.minibatch, 0);
    CHECK(std::ranges::equal(batch.edges[0].edge_ids.as<int64_t>(), edge_ids.as<int64_t>()));
  }
}

TEST_CASE("drop_last, no shuffle, and a start in the middle") {
  const auto graph = make_graph(100, 500, 4);
  LoaderOptions options = options_for(2);
  options.shuffle = false;
  options.drop_last = true;
  const NeighborLoader loader(graph, options);
  CHECK(loader.num_steps() == 3);
  const auto rest = run_epoch(loader, 0, 2);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].step == 2);
  CHECK(loader.seeds(0, 2).front() == 66);
  CHECK(run_epoch(loader, 0, 3).empty());
  CHECK_THROWS_AS(loader.start(0, 4), Error);
}

TEST_CASE("two streams at once, and streams left early, do not disturb each other") {
  const auto graph = make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  const auto first = loader.start(0), second = loader.start(0);
  for (int i = 0; i < 5; ++i) {
    const auto a = first->next(kPatience), b = second->next(kPatience);
    REQUIRE((a && b));
    CHECK(fingerprint_of(*graph, *a) == fingerprint_of(*graph, *b));
  }
  for (int i = 0; i < 20; ++i)
    (void)loader.start(i)->next(kPatience);
}

TEST_CASE("memory is bounded by the batches ahead, and comes back") {
  const auto graph = make_graph(20'000, 200'000, 1);
  LoaderOptions options = options_for(2);
  options.batch_size = 2000;
  const NeighborLoader loader(graph, options);
  {
    const auto stream = loader.start(0);
    (void)stream->next(kPatience);
  }
  CHECK(loader.pool()->bytes_idle() > 0);
  // Of batches let go one by one there are never more than those ahead and the one in hand. A
  // buffer may be twice its array, and is at least 4 KiB.
  for (int epoch = 1; epoch < 4; ++epoch) {
    const auto stream = loader.start(epoch);
    while (stream->next(kPatience)) {
    }
  }
  CHECK(loader.pool()->bytes_in_use() == 0);
  const int64_t largest = loader.summary().largest_batch_bytes + 10 * 4096;
  CHECK(loader.pool()->bytes_idle() <= 5 * (loader.max_prefetch() + 1) * largest / 2);
}

TEST_CASE("an error in a thread is thrown in the place of its batch") {
  const Csc csc = csc_of(random_edges(100, 100, 500, 9), 100, 100);
  auto* indices = static_cast<int32_t*>(csc.indices.data);
  const int64_t row = csc.indptr.as<int64_t>()[75];
  indices[row] = 1000;  // read by the third batch of 33, in order
  LoaderOptions options = options_for(4);
  options.sample.fanouts = {{-1}};
  options.shuffle = false;
  options.tables.clear();
  const NeighborLoader loader(graph_of(one_type(csc, 100)), options);
  const auto stream = loader.start(0);
  CHECK(stream->next(kPatience)->step == 0);
  CHECK(stream->next(kPatience)->step == 1);
  CHECK_THROWS_AS(stream->next(kPatience), Error);
  CHECK(stream->done());
}

TEST_CASE("a stream belongs to its process, the loader does not" *
          doctest::skip(kNoThreadsAfterFork)) {
  const auto graph = make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  const auto stream = loader.start(0);
  const auto expected = stream->next(kPatience);
  CHECK(holds_in_child([&] {
    bool refused = false;
    try {
      (void)stream->next(kPatience);
    } catch (const Error&) {
      refused = true;
    }
    const auto own = loader.start(0)->next(kPatience);
    return refused && own && fingerprint_of(*graph, *own) == fingerprint_of(*graph, *expected);
  }));
  CHECK(stream->next(kPatience)->step == 1);
}

TEST_CASE("bad options are named") {
  const auto graph = make_graph(100, 500, 4);
  const auto refuse = [&](auto change) {
    LoaderOptions options = options_for(1);
    change(options);
    CHECK_THROWS_AS(NeighborLoader(graph, options), Error);
  };
  refuse([](LoaderOptions& o) { o.batch_size = 0; });
  refuse([](LoaderOptions& o) { o.threads = -1; });
  refuse([](LoaderOptions& o) { o.rank = 1; });
  refuse([](LoaderOptions& o) { o.tables = {{0, "nothing", false}}; });
  refuse([](LoaderOptions& o) { o.tables = {{1, "feat", false}}; });
  refuse([](LoaderOptions& o) { o.tables = {{.name = "feat", .edge_type = 0}}; });
  refuse([](LoaderOptions& o) { o.tables = {{.name = "feat", .edge_type = 1}}; });
  const std::vector<int64_t> rows(100);
  refuse([&](LoaderOptions& o) {
    o.tables = {{.name = "feat", .edge_type = 0, .rows = ProvidedTable{Table(borrow(rows))}}};
  });
  refuse([](LoaderOptions& o) { o.tables = {{.name = "feat", .at_seeds = true, .edge_type = 0}}; });
  for (const Cells cells : {Cells{-1, 1}, Cells{1, 0}, Cells{1, 3}})  // of rows of two numbers
    refuse([&](LoaderOptions& o) { o.tables = {{.name = "feat", .hidden = {cells}}}; });
  refuse([](LoaderOptions& o) {
    o.tables = {{.name = "feat", .at_seeds = true, .hidden = {{0, 1}}}};
  });
  const std::vector<int64_t> beyond{3, 100};
  refuse([&](LoaderOptions& o) { o.inputs.front().ids = borrow(beyond); });
  const std::vector<int64_t> times(100);
  refuse([&](LoaderOptions& o) { o.inputs.front().times = borrow(times); });
}

TEST_CASE("automatic threads: the same batches, fewer at work, and no more ahead than asked") {
  const auto graph = make_graph(1000, 9000, 1);
  const auto expected = run_epoch(NeighborLoader(graph, options_for(1)), 3);
  const NeighborLoader loader(graph, options_for(0));
  CHECK(loader.max_threads() >= 1);
  CHECK(loader.max_threads() <= kMaxAutomaticThreads);
  CHECK(loader.max_prefetch() == loader.max_threads() + 1);
  const auto batches = run_epoch(loader, 3);
  REQUIRE(batches.size() == expected.size());
  for (size_t s = 0; s < batches.size(); ++s)
    REQUIRE(fingerprint_of(*graph, batches[s]) == fingerprint_of(*graph, expected[s]));
  CHECK(NeighborLoader(graph, options_for(0, 0, 1000)).max_threads() == 1);
}

TEST_CASE("a type, step, count or epoch that is none is an Error, not another exception") {
  const auto graph = make_graph(100, 300, 3);
  const auto loader_with = [&](auto&& change) {
    LoaderOptions options = options_for(1);
    change(options);
    const NeighborLoader loader(graph, options);
  };
  for (const int type : {-1, 1, 1 << 30}) {
    check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"}, [&] {
      loader_with([&](LoaderOptions& o) { o.inputs.front().node_type = type; });
    });
    check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"},
                 [&] { loader_with([&](LoaderOptions& o) { o.tables[0].node_type = type; }); });
  }
  check_throws(ErrorCode::kInvalidArgument, {"threads is 2147483647", "4096"},
               [&] { loader_with([](LoaderOptions& o) { o.threads = INT32_MAX; }); });
  check_throws(ErrorCode::kInvalidArgument, {"prefetch is 2147483647", "65536"},
               [&] { loader_with([](LoaderOptions& o) { o.prefetch = INT32_MAX; }); });
  const NeighborLoader loader(graph, options_for(1));
  for (const int64_t step : {int64_t{-1}, loader.num_steps(), INT64_MAX}) {
    const std::string value = "step is " + std::to_string(step);
    check_throws(ErrorCode::kOutOfRange, {value, "[0, 4)"}, [&] { return loader.seeds(0, step); });
    check_throws(ErrorCode::kOutOfRange, {value, "[0, 4)"},
                 [&] { return loader.global_num_seeds(step); });
  }
  check_throws(ErrorCode::kInvalidArgument, {"epoch is -1"}, [&] { return loader.seeds(-1, 0); });
}
