// ExternalCsc against build_csc, byte by byte of the files, with so little memory that runs, levels
// and single rows are many.
#include "ramet/external_csc.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "graph/external/csc_files.h"
#include "graph/external/edge_runs.h"
#include "graph/external/memory_plan.h"
#include "graph/external/row_sort.h"
#include "graph/external/run_file.h"
#include "graph/external/run_ids.h"
#include "ramet/csc.h"
#include "ramet/error.h"
#include "storage/npy.h"
#include "support/graph_fixture.h"
#include "support/process_entries.h"
#include "support/slow_build.h"
#include "support/temp_dir.h"

using namespace ramet;
using ramet::test::EdgeList;

namespace {

// Runs are of 25,000 to 40,000, and so are sorts.
constexpr int64_t kRandomEdges = test::kSlowBuild ? 90'000 : 200'000;
constexpr int64_t kAllNodes = 5'000;
constexpr int64_t kMemory = ExternalCsc::kLeastMemory;

std::string file_of(const Array& array) {
  return print_npy_header(array.dtype, array.shape) +
         std::string(static_cast<const char*>(array.data), static_cast<size_t>(array.bytes()));
}

template <typename T>
void add_in_chunks(ExternalCsc& csc, const EdgeList& edges) {
  const std::vector<T> src(edges.src.begin(), edges.src.end());
  const std::vector<T> dst(edges.dst.begin(), edges.dst.end());
  const std::span<const T> sources(src), destinations(dst);
  size_t chunk = 1;  // of growing lengths
  for (size_t begin = 0; begin < src.size(); begin += chunk, chunk = chunk * 3 + 1) {
    const size_t count = std::min(chunk, src.size() - begin);
    csc.add(borrow(sources.subspan(begin, count)), borrow(destinations.subspan(begin, count)));
  }
}

template <typename T>
void check_files(const EdgeList& edges, int64_t num_src, int64_t num_dst, bool undirected) {
  const Csc expected = test::csc_of(edges, num_src, num_dst, {.undirected = undirected});
  for (const int64_t memory : {kMemory, 40 * kMemory}) {
    CAPTURE(memory);
    const test::TempDir folder;
    ExternalCsc csc(folder.path(), num_src, num_dst,
                    {.memory = memory, .undirected = undirected, .threads = 3});
    add_in_chunks<T>(csc, edges);
    REQUIRE(test::entries_of(folder.path().c_str()) == 0);  // files without names
    const auto result =
        csc.finish({folder / "indptr.npy", folder / "indices.npy", folder / "edge_ids.npy"});
    CHECK(result.num_edges == expected.indices.rows());
    CHECK(result.has_edge_ids == (expected.edge_ids.data != nullptr));
    CHECK((test::read_file(folder / "indptr.npy") == file_of(expected.indptr)));
    CHECK((test::read_file(folder / "indices.npy") == file_of(expected.indices)));
    if (result.has_edge_ids)
      CHECK((test::read_file(folder / "edge_ids.npy") == file_of(expected.edge_ids)));
    CHECK(test::entries_of(folder.path().c_str()) == (result.has_edge_ids ? 3 : 2));
  }
}

void check_both_ways(const EdgeList& edges, int64_t num_nodes) {
  check_files<int32_t>(edges, num_nodes, num_nodes, false);
  check_files<int64_t>(edges, num_nodes, num_nodes, true);
}

}  // namespace

TEST_CASE("external csc: random edges") {
  check_both_ways(test::random_edges(kAllNodes, kAllNodes, kRandomEdges, 1), kAllNodes);
}

TEST_CASE("external csc: repeated pairs, loops, and sorted destinations") {
  EdgeList edges = test::random_edges(20, 20, kRandomEdges, 2);
  check_both_ways(edges, 20);  // a row has 10,000 edges, and its repeats
  std::sort(edges.dst.begin(), edges.dst.end());
  check_both_ways(edges, 4'000);
}

TEST_CASE("external csc: rows that memory does not hold, first, last and between others") {
  for (const int64_t hub : {int64_t{0}, kAllNodes - 1, int64_t{2'345}}) {
    CAPTURE(hub);
    EdgeList edges = test::random_edges(kAllNodes, kAllNodes, kRandomEdges, 3);
    for (size_t e = 0; e < edges.dst.size(); ++e)
      if (e % 3 != 0) edges.dst[e] = hub;
    check_both_ways(edges, kAllNodes);
  }
}

TEST_CASE("external csc: a bucket of rows that memory does not hold, in a graph of many rows") {
  EdgeList edges = test::random_edges(kAllNodes, 300, kRandomEdges, 4);
  for (int64_t& d : edges.dst)
    d += 100'000;
  edges.src.push_back(299'999);
  edges.dst.push_back(299'999);
  check_both_ways(edges, 300'000);
}

TEST_CASE("external csc: one pair with all edges") {
  EdgeList edges{std::vector<int64_t>(kRandomEdges, 7), std::vector<int64_t>(kRandomEdges, 3)};
  check_both_ways(edges, kAllNodes);
  edges.dst = edges.src;
  check_both_ways(edges, kAllNodes);
}

TEST_CASE("external csc: sources of 64 bits") {
  EdgeList edges = test::random_edges(kAllNodes, kAllNodes, kRandomEdges, 5);
  for (int64_t& s : edges.src)
    s += int64_t{1} << 40;
  check_files<int64_t>(edges, int64_t{1} << 41, kAllNodes, false);
}

TEST_CASE("external csc: more rows than memory holds, few edges, and no edges") {
  check_both_ways({{0, 999'999, 17}, {999'999, 0, 17}}, 1'000'000);
  check_both_ways({}, 1'000'000);
  check_both_ways({}, 0);
  check_files<int32_t>({{0, 0}, {0, 0}}, 1, 1, false);
}

TEST_CASE("external csc: wrong arguments are named, and add nothing") {
  const test::TempDir folder;
  CHECK_THROWS_WITH(ExternalCsc(folder.path(), 5, 5, {.memory = 1000}),
                    "memory is 1000 bytes, expected at least 1048576");
  CHECK_THROWS_AS(ExternalCsc(folder.path(), 5, 4, {.undirected = true}), Error);
  CHECK_THROWS_AS(ExternalCsc(folder / "absent", 5, 5), Error);
  const CscPaths paths{folder / "indptr.npy", folder / "indices.npy", ""};
  ExternalCsc csc(folder.path(), 5, 5, {.memory = kMemory});
  const std::vector<int64_t> good{1, 2, 4}, bad{1, 2, 5};
  const std::vector<int32_t> narrow{1, 2, 3};
  csc.add(borrow(good), borrow(good));
  CHECK_THROWS_WITH(csc.add(borrow(good), borrow(bad)),
                    "destination of edge 5 is 5, outside [0, 5)");
  CHECK_THROWS_AS(csc.add(borrow(good), borrow(narrow)), Error);
  CHECK(csc.finish(paths).num_edges == 3);
  CHECK_THROWS_AS(csc.add(borrow(good), borrow(good)), Error);
}

TEST_CASE("external csc: what stops finish() leaves no file") {
  const test::TempDir folder;
  const EdgeList edges = test::random_edges(kAllNodes, kAllNodes, kRandomEdges, 6);
  const CscPaths paths{folder / "indptr.npy", folder / "indices.npy", folder / "edge_ids.npy"};
  const int64_t before = test::open_descriptors();
  {
    ExternalCsc csc(folder.path(), kAllNodes, kAllNodes, {.memory = kMemory});
    add_in_chunks<int64_t>(csc, edges);
    int64_t calls = 0, last = 0, all = 0;
    CHECK_THROWS_WITH(csc.finish(paths,
                                 [&](int64_t done, int64_t total) {
                                   CHECK(last <= done);
                                   last = done;
                                   all = total;
                                   if (++calls == 2) throw_invalid("enough");
                                 }),
                      "enough");
    CHECK(last > 0);
    CHECK(all == kRandomEdges * 12);
  }
  CHECK(test::entries_of(folder.path().c_str()) == 0);
  CHECK(test::open_descriptors() == before);
}

TEST_CASE("external csc: ids of 64 bits, of reverses behind edges that are said to be more") {
  constexpr int64_t kMany = 3'000'000'000;
  const test::TempDir folder;
  const MemoryPlan plan(kMemory, 3);
  const Arena arena(plan.arena_bytes);
  const GraphSize size{kAllNodes, kAllNodes, true};
  EdgeRuns<int32_t, int32_t> runs(folder.path(), size, plan, arena);
  const int64_t per_run = runs.numbers().per_run;
  const EdgeList edges = test::random_edges(kAllNodes, kAllNodes, 3 * per_run, 7);
  runs.add(std::span<const int64_t>(edges.src), std::span<const int64_t>(edges.dst));
  runs.finish();
  CscFiles<int32_t, int64_t> files({folder / "indptr", folder / "indices", folder / "edge_ids"});
  const Progress nobody;
  RowSort<int32_t, int64_t>(folder.path(), size, plan, arena, files, nobody)
      .run(Level<EdgeRecord<int32_t, int32_t>>{
          runs.runs(), runs.buckets(), {kMany, per_run}, false});
  files.finish();
  const Csc expected = test::csc_of(edges, kAllNodes, kAllNodes, {.undirected = true});
  std::vector<int64_t> ids;
  for (const int32_t id : expected.edge_ids.as<int32_t>())
    ids.push_back(id < 3 * per_run ? id : id - 3 * per_run + kMany);
  CHECK((test::read_file(folder / "indices") == file_of(expected.indices)));
  CHECK((test::read_file(folder / "edge_ids") == file_of(borrow(ids))));
}

TEST_CASE("external csc: numbers and positions beyond 32 bits") {
  constexpr int64_t kMany = 5'000'000'000, kPerRun = 40'000'000;
  const EdgeNumbers numbers{kMany, kPerRun};
  CHECK(numbers.of_run(100)(0) == 4'000'000'000);
  CHECK(numbers.of_run(100)(kPerRun - 1) == 4'039'999'999);
  CHECK(numbers.of_run(100)(kPerRun) == kMany + 4'000'000'000);
  const EdgeNumbers uneven{kMany + 3, kPerRun};
  CHECK(uneven.of_run(125)(2) == kMany + 2);
  CHECK(uneven.of_run(125)(3) == kMany + 3 + kMany);
  const test::TempDir folder;
  const RunFile runs(folder.path(), 4096, 12, kPerRun);
  CHECK(runs.offset_of_record(124, kPerRun - 1) > 124 * 12 * kPerRun);
  CHECK(runs.offset_of_begin(125, 0) >= runs.offset_of_record(124, kPerRun));
}
