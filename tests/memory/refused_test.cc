// Every request for memory, a mapping or a thread refused once, and all from it on: each call ends
// with an Error or std::bad_alloc, or has the result it has otherwise, and leaves nothing behind.
#include <doctest/doctest.h>

#include <filesystem>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "failing.h"
#include "ramet/csc.h"
#include "ramet/error.h"
#include "ramet/external_csc.h"
#include "ramet/generate.h"
#include "ramet/loader.h"
#include "ramet/record_table.h"
#include "ramet/row_reader.h"
#include "ramet/sampler.h"
#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "ramet/table.h"
#include "support/fingerprints.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/process_entries.h"
#include "support/streams.h"
#include "support/temp_dir.h"

using namespace ramet;
using test::Refusals;
using test::Refuse;

namespace {

constexpr int64_t kNodes = 60;
constexpr int64_t kMostRequests = 20'000;

StoreContents small_contents() {
  return generate_rmat({.scale = 5, .edge_factor = 6, .feature_width = 8}, 1);
}

struct Held {
  int64_t descriptors = test::open_descriptors();
  int64_t threads = test::running_threads();
  bool operator==(const Held&) const = default;
};

// Whether `call` came to its end, which must be `expected`; not where it threw what it may throw.
template <typename Result, typename Call>
bool ends_well(const Result& expected, const Call& call, const Refusals& refusals) {
  try {
    const Result result = call();
    const bool happened = refusals.happened();
    CHECK(result == expected);
    return !happened;
  } catch (const Error& error) {
    CHECK(std::string(error.what()) != "");
  } catch (const std::bad_alloc&) {
  }
  return false;
}

template <typename Call>
void refuse_each(Refuse which, const Call& call) {
  const auto expected = call();  // also makes what the process keeps: threads, pools, tables
  const Held before{};
  for (int64_t first = 0;; ++first) {
    REQUIRE(first < kMostRequests);
    CAPTURE(first);
    bool done = false;
    {
      const Refusals refusals(first, which);
      done = ends_well(expected, call, refusals);
    }
    REQUIRE(Held() == before);
    if (done) break;
  }
  CHECK(call() == expected);
}

template <typename Call>
void refuse_each(const Call& call) {
  refuse_each(Refuse::kOne, call);
  refuse_each(Refuse::kAllFrom, call);
}

std::shared_ptr<const Graph> small_graph() {
  return test::make_graph(kNodes, 6 * kNodes, 3);
}

SampleOptions options_of(const Method& method) {
  return {{{3, 2}}, method, 1};
}

LoaderOptions loader_options(int threads) {
  LoaderOptions options;
  options.sample = options_of(Uniform{});
  options.batch_size = 16;
  options.shuffle = true;
  options.threads = threads;
  options.tables = {{0, "feat", false}};
  return options;
}

// Of each batch its nodes, edges and rows.
std::vector<std::string> run_epoch(const std::shared_ptr<const Graph>& graph,
                                   const LoaderOptions& options) {
  const NeighborLoader loader(graph, options);
  std::vector<std::string> fingerprints;
  const auto stream = loader.start(0);
  while (const auto batch = stream->next(test::kPatience)) {
    const Array& rows = batch->tables[0];
    fingerprints.push_back(test::fingerprint_of(*graph, batch->minibatch));
    fingerprints.back().append(static_cast<const char*>(rows.data),
                               static_cast<size_t>(rows.bytes()));
  }
  return fingerprints;
}

}  // namespace

// First, while the pool has no thread yet: those that are refused are not missed.
TEST_CASE("parallel_for") {
  refuse_each([] {
    std::vector<int64_t> squares(64);
    parallel_for(64, 1, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        squares[static_cast<size_t>(i)] = i * i;
    });
    return squares;
  });
}

TEST_CASE("building a CSC") {
  const test::EdgeList edges = test::random_edges(kNodes, kNodes, 400, 1);
  refuse_each([&] {
    const Csc csc = test::csc_of(edges, kNodes, kNodes, {.undirected = true, .threads = 2});
    return test::numbers(csc.indices);
  });
}

TEST_CASE("building a CSC beyond memory") {
  const test::EdgeList edges = test::random_edges(kNodes, kNodes, 400, 1);
  const test::TempDir folder;
  const CscPaths paths{folder / "indptr", folder / "indices", folder / "edge_ids"};
  refuse_each(Refuse::kOne, [&] {
    ExternalCsc csc(folder.path(), kNodes, kNodes,
                    {.memory = ExternalCsc::kLeastMemory, .undirected = true});
    csc.add(borrow(edges.src), borrow(edges.dst));
    return csc.finish(paths).num_edges;
  });
}

TEST_CASE("making a segment, and validating it") {
  const StoreContents contents = small_contents();
  refuse_each([&] {
    const auto graph = test::graph_of(contents);
    validate(*graph, 2);
    return graph->fingerprint();
  });
}

TEST_CASE("opening a folder") {
  const test::TempDir folder;
  const std::string path = folder / "store";
  write_store(path, small_contents());
  refuse_each([&] { return Graph::from_store(Store::open(path))->fingerprint(); });
}

TEST_CASE("writing a store over another") {
  const test::TempDir folder;
  const std::string path = folder / "store";
  const StoreContents contents = small_contents();
  refuse_each([&] {
    write_store(path, contents);
    return true;
  });
  CHECK(test::entries_of(folder.path().c_str()) == 1);
}

TEST_CASE("a writer that was refused something once leaves no temporary folder") {
  const test::TempDir folder;
  const StoreContents contents = small_contents();
  bool happened = true;
  for (int64_t first = 0; happened; ++first) {
    REQUIRE(first < kMostRequests);
    CAPTURE(first);
    bool written = true;
    try {
      const Refusals refusals(first, Refuse::kOne);
      write_store(folder / "store", contents);
      happened = refusals.happened();
    } catch (const Error&) {
      written = false;
    } catch (const std::bad_alloc&) {
      written = false;
    }
    REQUIRE(test::entries_of(folder.path().c_str()) == (written ? 1 : 0));
    std::filesystem::remove_all(folder / "store");
  }
}

TEST_CASE("sampling") {
  const auto graph = small_graph();
  const std::vector<int64_t> seeds{1, 2, 3, 1, 59};
  for (const Method& method : {Method(Uniform{}), Method(Labor{1})}) {
    refuse_each([&] {
      NeighborSampler one(graph, options_of(method), nullptr, 2);
      return test::fingerprint_of(*graph, one.sample({0, seeds}, 0, 0));
    });
  }
}

TEST_CASE("gathering rows") {
  const auto graph = small_graph();
  const std::vector<int64_t> ids{5, 4, 59};
  refuse_each([&] {
    const Table table(graph->node_types()[0].tables.at("feat"), {}, "feat");
    const Array rows = table.gather(ids, 2);
    const auto values = rows.as<float>();
    return std::vector<float>(values.begin(), values.end());
  });
}

TEST_CASE("reading rows from a file") {
  const test::TempDir folder;
  const std::string path = folder / "rows";
  test::write_file(path, std::string(100 * 16, 'r') + std::string(100 * 16, 's'));
  using How = RowReaderOptions::Method;
  for (const How method : {How::kAuto, How::kThreads})
    refuse_each([&] {
      const auto reader = RowReader::open({{path, 0, 200, 0}}, 16,
                                          {.method = method, .depth = 3, .request_seconds = 0});
      std::string rows(3 * 16, '?');
      reader->submit(std::vector<int64_t>{150, 99, 100}, rows.data())->complete();
      return rows;
    });
}

TEST_CASE("an epoch of a loader") {
  const auto graph = small_graph();
  for (const int threads : {1, 3, 0})
    refuse_each([&] { return run_epoch(graph, loader_options(threads)); });
}

TEST_CASE("an epoch of a loader of rows that lie on a disk, through a cache") {
  const test::TempDir folder;
  write_store(folder / "store", small_contents());
  const auto graph = Graph::from_store(Store::open(folder / "store"));
  for (const CacheBy by : {CacheBy::kLookAhead, CacheBy::kRecency}) {
    LoaderOptions options = loader_options(2);
    options.host = {.tables = {Location::kDisk}, .cache_rows = 8, .cache_by = by, .look_ahead = 2};
    refuse_each([&] { return run_epoch(graph, options); });
  }
}

TEST_CASE("rows of an embedding that lies on a disk") {
  const test::TempDir folder;
  constexpr int64_t kWidth = 4;
  const std::vector<int64_t> batches[] = {{1, 5, 9, 30, 31}, {5, 7, 31, 40}, {1, 9, 41, 42, 43}};
  std::vector<int64_t> all(kNodes);
  std::iota(all.begin(), all.end(), 0);
  refuse_each([&] {
    RecordTable table(kNodes, {DType::kFloat32, {kWidth}},
                      {.folder = folder.path(), .cache_rows = 6});
    table.set_state({{DType::kFloat32, {kWidth}}});
    for (const std::vector<int64_t>& ids : batches) {
      table.announce(borrow(ids));
      const std::span<const int64_t> list(ids);
      table.update(std::span(&list, 1), [&](const HeldRecords& held) {
        for (const int64_t slot : held.slots[0])
          static_cast<float*>(held.columns[0].data)[slot * kWidth] += 1;
      });
    }
    const Array rows = table.gather(all);
    const auto values = rows.as<float>();
    return std::vector<float>(values.begin(), values.end());
  });
  CHECK(test::entries_of(folder.path().c_str()) == 0);
}
