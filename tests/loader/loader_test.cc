#include "ramet/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "loader/loader_fixture.h"
#include "ramet/error.h"
#include "ramet/fingerprint.h"
#include "support/fork.h"
#include "support/graph_fixture.h"
#include "support/store_fixture.h"
#include "support/streams.h"

using namespace ramet;
using test::options_for;
using test::run_epoch;

namespace {

std::string fingerprint_of(const Graph& graph, const Batch& batch) {
  const SampledFrom one[] = {{&graph, &batch.minibatch}};
  return fingerprint(one);
}

}  // namespace

TEST_CASE("batches come in order and are the same for any number of threads") {
  const auto graph = test::make_graph(1000, 9000, 1);
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

TEST_CASE("tables hold the rows of the batch's nodes") {
  const auto graph = test::make_graph(500, 3000, 2);
  for (const Batch& batch : run_epoch(NeighborLoader(graph, options_for(2)), 0)) {
    const auto n_id = batch.minibatch.n_id[0].as<int64_t>();
    const auto rows = batch.tables[0].as<float>();
    for (size_t i = 0; i < n_id.size(); ++i) {
      REQUIRE(rows[2 * i] == static_cast<float>(n_id[i]));
      REQUIRE(rows[2 * i + 1] == static_cast<float>(n_id[i]) + 0.5F);
    }
  }
}

TEST_CASE("a provided table's rows come instead of the graph's") {
  const auto graph = test::make_graph(500, 3000, 2);
  Array rows = BufferPool::create()->allocate_array(DType::kInt64, {500});
  auto* const row = static_cast<int64_t*>(rows.data);
  std::iota(row, row + 500, 7);
  LoaderOptions options = options_for(2);
  options.tables.push_back({.name = "feat", .rows = ProvidedTable{Table(rows)}});
  for (const Batch& batch : run_epoch(NeighborLoader(graph, options), 0)) {
    const auto n_id = batch.minibatch.n_id[0].as<int64_t>(), got = batch.tables[1].as<int64_t>();
    REQUIRE(std::equal(n_id.begin(), n_id.end(), got.begin(), got.end(),
                       [](int64_t node, int64_t value) { return value == node + 7; }));
  }
  rows.shape = {499};
  options.tables = {{.name = "feat", .rows = ProvidedTable{Table(rows)}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(NeighborLoader(graph, options)),
                       "table 'feat' has 499 rows, but node type 'node' has 500 nodes", Error);
  options.tables = {{.name = "feat", .edge_type = 0, .rows = ProvidedTable{Table(rows)}}};
  CHECK_THROWS_AS(static_cast<void>(NeighborLoader(graph, options)), Error);
}

TEST_CASE("edges are made ahead where each node is expanded once") {
  const auto graph = test::make_graph(500, 3000, 2);
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

TEST_CASE("tables of edges hold the rows at the blocks' positions") {
  const auto graph = test::make_graph_with_edge_table(500, 3000, 2);
  LoaderOptions options = options_for(2);
  options.tables = {{.name = "weight", .edge_type = 0}, {0, "feat", false}};
  for (const Batch& batch : run_epoch(NeighborLoader(graph, options), 0)) {
    int64_t edges = 0;
    for (size_t b = 0; b < batch.minibatch.blocks.size(); ++b) {
      const Array positions = ramet::positions(batch.minibatch.blocks[b].relations[0]);
      const Array rows = rows_of_block(batch, 0, 0, b);
      REQUIRE(rows.rows() == positions.rows());
      for (size_t e = 0; e < positions.as<int64_t>().size(); ++e)
        REQUIRE(rows.as<int64_t>()[e] == 7 * positions.as<int64_t>()[e]);
      edges += rows.rows();
    }
    REQUIRE(batch.tables[0].rows() == edges);
    REQUIRE(batch.tables[1].rows() == batch.minibatch.n_id[0].rows());
    REQUIRE(size_of(batch).table_bytes == batch.tables[0].bytes() + batch.tables[1].bytes());
  }
}

TEST_CASE("with hops that are one graph, tables of edges have the seeds' hop first") {
  const auto graph = test::make_graph_with_edge_table(500, 3000, 2);
  LoaderOptions options = options_for(2);
  options.tables = {{.name = "weight", .edge_type = 0}, {0, "feat", false}};
  for (const bool disjoint : {false, true}) {
    options.sample.expand = Expand::kOnce;
    options.sample.disjoint = disjoint;
    for (const Batch& batch : run_epoch(NeighborLoader(graph, options), 0)) {
      const Array positions = merged_positions(batch.minibatch, 0);
      REQUIRE(batch.tables[0].rows() == positions.rows());
      for (size_t e = 0; e < positions.as<int64_t>().size(); ++e)
        REQUIRE(batch.tables[0].as<int64_t>()[e] == 7 * positions.as<int64_t>()[e]);
      const Array of_seeds = rows_of_block(batch, 0, 0, batch.minibatch.blocks.size() - 1);
      REQUIRE(of_seeds.data == batch.tables[0].data);
      REQUIRE(of_seeds.rows() + rows_of_block(batch, 0, 0, 0).rows() == positions.rows());
      REQUIRE(batch.tables[1].rows() == batch.minibatch.n_id[0].rows());
    }
  }
}

// docs/semantics.md, section 6.
TEST_CASE("an epoch visits every input once, and the ranks' slices make up the batch") {
  const auto graph = test::make_graph(1000, 2000, 3);
  const NeighborLoader whole(graph, options_for(1));
  std::vector<int64_t> seen;
  for (const int world : {1, 2, 3, 5, 50}) {
    seen.clear();
    for (int64_t step = 0; step < whole.num_steps(); ++step) {
      std::vector<int64_t> joined;
      for (int rank = 0; rank < world; ++rank) {
        const NeighborLoader loader(graph, options_for(1, rank, world));
        REQUIRE(loader.num_steps() == whole.num_steps());
        REQUIRE(loader.fingerprint() == whole.fingerprint());
        const auto slice = loader.seeds(7, step);
        joined.insert(joined.end(), slice.begin(), slice.end());
      }
      REQUIRE(joined == whole.seeds(7, step));
      seen.insert(seen.end(), joined.begin(), joined.end());
    }
    std::sort(seen.begin(), seen.end());
    for (int64_t v = 0; v < 1000; ++v)
      REQUIRE(seen[static_cast<size_t>(v)] == v);
  }
  CHECK(whole.seeds(7, 0) != whole.seeds(8, 0));
}

TEST_CASE("drop_last, no shuffle, and a start in the middle") {
  const auto graph = test::make_graph(100, 500, 4);
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
  CHECK_THROWS_AS((void)loader.start(0, 4), Error);
}

TEST_CASE("two streams at once, and streams left early, do not disturb each other") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  const auto first = loader.start(0), second = loader.start(0);
  for (int i = 0; i < 5; ++i) {
    const auto a = first->next(test::kPatience), b = second->next(test::kPatience);
    REQUIRE((a && b));
    CHECK(fingerprint_of(*graph, *a) == fingerprint_of(*graph, *b));
  }
  for (int i = 0; i < 20; ++i)
    (void)loader.start(i)->next(test::kPatience);
}

TEST_CASE("memory is bounded by the batches ahead, and comes back") {
  const auto graph = test::make_graph(20'000, 200'000, 1);
  LoaderOptions options = options_for(2);
  options.batch_size = 2000;
  const NeighborLoader loader(graph, options);
  {
    const auto stream = loader.start(0);
    (void)stream->next(test::kPatience);
  }
  CHECK(loader.pool()->bytes_idle() > 0);
  // Of batches let go one by one there are never more than those ahead and the one in hand. A
  // buffer may be twice its array, and is at least 4 KiB.
  for (int epoch = 1; epoch < 4; ++epoch) {
    const auto stream = loader.start(epoch);
    while (stream->next(test::kPatience)) {
    }
  }
  CHECK(loader.pool()->bytes_in_use() == 0);
  const int64_t largest = loader.summary().largest_batch_bytes + 10 * 4096;
  CHECK(loader.pool()->bytes_idle() <= 5 * (loader.max_prefetch() + 1) * largest / 2);
}

TEST_CASE("an error in a thread is thrown in the place of its batch") {
  test::EdgeList edges = test::random_edges(100, 100, 500, 9);
  const Csc csc = build_csc(borrow(std::span<const int64_t>(edges.src)),
                            borrow(std::span<const int64_t>(edges.dst)), 100, 100);
  StoreContents contents;
  contents.node_counts["node"] = 100;
  test::add_edges(contents, "node__to__node", csc);
  auto* indices = static_cast<int32_t*>(csc.indices.data);
  const int64_t row = csc.indptr.as<int64_t>()[75];
  indices[row] = 1000;  // read by the third batch of 33, in order
  LoaderOptions options = options_for(4);
  options.sample.fanouts = {{-1}};
  options.shuffle = false;
  options.tables.clear();
  const NeighborLoader loader(Graph::from_store(make_segment(contents)), options);
  const auto stream = loader.start(0);
  CHECK(stream->next(test::kPatience)->step == 0);
  CHECK(stream->next(test::kPatience)->step == 1);
  CHECK_THROWS_AS((void)stream->next(test::kPatience), Error);
  CHECK(stream->done());
}

TEST_CASE("a stream belongs to its process, the loader does not" *
          doctest::skip(test::kNoThreadsAfterFork)) {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  const auto stream = loader.start(0);
  const auto expected = stream->next(test::kPatience);
  CHECK(test::holds_in_child([&] {
    bool refused = false;
    try {
      (void)stream->next(test::kPatience);
    } catch (const Error&) {
      refused = true;
    }
    const auto own = loader.start(0)->next(test::kPatience);
    return refused && own && fingerprint_of(*graph, *own) == fingerprint_of(*graph, *expected);
  }));
  CHECK(stream->next(test::kPatience)->step == 1);
}

TEST_CASE("bad options are named") {
  const auto graph = test::make_graph(100, 500, 4);
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
  refuse([](LoaderOptions& o) { o.tables = {{.name = "feat", .at_seeds = true, .edge_type = 0}}; });
  const std::vector<int64_t> beyond{3, 100};
  refuse(
      [&](LoaderOptions& o) { o.inputs.front().ids = borrow(std::span<const int64_t>(beyond)); });
  const std::vector<int64_t> times(100);
  refuse(
      [&](LoaderOptions& o) { o.inputs.front().times = borrow(std::span<const int64_t>(times)); });
}

TEST_CASE("automatic threads: the same batches, fewer at work, and no more ahead than asked") {
  const auto graph = test::make_graph(1000, 9000, 1);
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
  const auto graph = test::make_graph(100, 300, 3);
  const auto loader_with = [&](auto&& change) {
    LoaderOptions options = options_for(1);
    change(options);
    const NeighborLoader loader(graph, options);
  };
  for (const int type : {-1, 1, 1 << 30}) {
    test::check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"}, [&] {
      loader_with([&](LoaderOptions& o) { o.inputs.front().node_type = type; });
    });
    test::check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"}, [&] {
      loader_with([&](LoaderOptions& o) { o.tables[0].node_type = type; });
    });
  }
  test::check_throws(ErrorCode::kInvalidArgument, {"threads is 2147483647", "4096"},
                     [&] { loader_with([](LoaderOptions& o) { o.threads = INT32_MAX; }); });
  test::check_throws(ErrorCode::kInvalidArgument, {"prefetch is 2147483647", "65536"},
                     [&] { loader_with([](LoaderOptions& o) { o.prefetch = INT32_MAX; }); });
  const NeighborLoader loader(graph, options_for(1));
  for (const int64_t step : {int64_t{-1}, loader.num_steps(), INT64_MAX}) {
    const std::string value = "step is " + std::to_string(step);
    test::check_throws(ErrorCode::kOutOfRange, {value, "[0, 4)"},
                       [&] { (void)loader.seeds(0, step); });
    test::check_throws(ErrorCode::kOutOfRange, {value, "[0, 4)"},
                       [&] { (void)loader.global_num_seeds(step); });
  }
  test::check_throws(ErrorCode::kInvalidArgument, {"epoch is -1"},
                     [&] { (void)loader.seeds(-1, 0); });
}
