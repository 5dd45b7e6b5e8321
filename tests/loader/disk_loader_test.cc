// Loaders whose rows come from a disk, and through caches that batches change: the batches are
// those of rows in place, to the bit, for any number of threads. docs/disk.md. Files cut short,
// forks and what is refused are tested by tests/python/loading/test_disk.py and
// test_disk_faults.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "ramet/loader.h"
#include "ramet/row_files.h"
#include "support/fork.h"
#include "support/graph_fixture.h"
#include "support/refused_calls.h"
#include "support/row_reader_fixture.h"
#include "support/streams.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kNodes = 1000, kBatch = 33;

// A graph, and a given table of it in a file.
struct OnDisk {
  OnDisk() : graph(make_graph(kNodes, 9000, 1)), path(folder / "rows") {
    write_marked(path, 48, 0, kNodes, 0);
    table.emplace(map_rows(std::vector{inspect_raw(path, DType::kInt64, {6})}, kNodes), "rows");
  }

  [[nodiscard]] LoaderOptions options(Location location, int threads) const {
    LoaderOptions options;
    options.sample = {{{4, 3}}, Uniform{}, 5};
    options.batch_size = kBatch;
    options.shuffle = true;
    options.threads = threads;
    options.tables = {{.name = "rows", .rows = ProvidedTable{*table}}};
    options.host.tables = {location};
    return options;
  }

  TempDir folder;
  std::shared_ptr<const Graph> graph;
  std::string path;
  std::optional<Table> table;
};

struct Epoch {
  std::vector<Batch> batches;
  std::vector<CacheStats> use;
};

Epoch read_epoch(const NeighborLoader& loader, int64_t epoch) {
  Epoch result;
  const auto stream = loader.start(epoch);
  while (auto batch = stream->next(kPatience)) {
    result.use.push_back(batch->cache);
    result.batches.push_back(std::move(*batch));
  }
  return result;
}

bool are_equal(const Array& one, const Array& other) {
  return one.shape == other.shape &&
         std::memcmp(one.data, other.data, static_cast<size_t>(one.bytes())) == 0;
}

void check_same(const std::vector<Batch>& got, const std::vector<Batch>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t s = 0; s < got.size(); ++s) {
    CHECK(got[s].step == static_cast<int64_t>(s));
    CHECK(are_equal(got[s].minibatch.n_id[0], expected[s].minibatch.n_id[0]));
    CHECK(are_equal(got[s].tables[0], expected[s].tables[0]));
  }
}

}  // namespace

TEST_CASE("batches of a disk are those in place, with every cache and number of threads") {
  const OnDisk on_disk;
  const NeighborLoader in_place(on_disk.graph, on_disk.options(Location::kInPlace, 2));
  const Epoch expected[] = {read_epoch(in_place, 0), read_epoch(in_place, 1)};
  for (const CacheBy by : {CacheBy::kAuto, CacheBy::kRecency, CacheBy::kDegree})
    for (const int look_ahead : {0, 3, 100}) {
      std::vector<CacheStats> uses[2];
      for (const int threads : {1, 2, 8}) {
        LoaderOptions options = on_disk.options(Location::kDisk, threads);
        options.host.cache_rows = 200;
        options.host.cache_by = by;
        options.host.look_ahead = look_ahead;
        const NeighborLoader loader(on_disk.graph, options);
        CHECK(loader.placement()[0].placement == Location::kDisk);
        for (const int64_t epoch : {0, 1}) {
          const Epoch got = read_epoch(loader, epoch);
          check_same(got.batches, expected[epoch].batches);
          if (uses[epoch].empty()) uses[epoch] = got.use;
          CHECK(got.use == uses[epoch]);
        }
        const LoaderSummary sum = loader.summary();
        CHECK(sum.read.rows == sum.cache.misses);
        CHECK(sum.read.requests > 0);
      }
    }
}

TEST_CASE("a stream that was left early leaves no trace in the next one's hits") {
  const OnDisk on_disk;
  LoaderOptions options = on_disk.options(Location::kDisk, 3);
  options.host.cache_rows = 150;
  options.host.look_ahead = 4;
  const NeighborLoader loader(on_disk.graph, options);
  const std::vector<CacheStats> first = read_epoch(loader, 0).use;
  for (const int taken : {0, 1, 7}) {
    const NeighborLoader other(on_disk.graph, options);
    {
      const auto stream = other.start(5);
      for (int i = 0; i < taken; ++i)
        CHECK(stream->next(kPatience));
    }
    CHECK(read_epoch(other, 0).use == first);
  }
}

TEST_CASE("of two streams at once the second reads without the cache") {
  const OnDisk on_disk;
  LoaderOptions options = on_disk.options(Location::kDisk, 2);
  options.host.cache_rows = kNodes;
  const NeighborLoader loader(on_disk.graph, options);
  const NeighborLoader in_place(on_disk.graph, on_disk.options(Location::kInPlace, 2));
  const auto one = loader.start(0), other = loader.start(1);
  std::vector<Batch> batches[2];
  int64_t hits[2] = {};
  for (int64_t step = 0; step < loader.num_steps(); ++step)
    for (const int which : {0, 1}) {
      auto batch = (which == 0 ? *one : *other).next(kPatience);
      REQUIRE(batch);
      hits[which] += batch->cache.hits;
      batches[which].push_back(std::move(*batch));
    }
  for (const int which : {0, 1})
    check_same(batches[which], read_epoch(in_place, which).batches);
  CHECK(hits[0] > 0);
  CHECK(hits[1] == 0);
}

TEST_CASE("where a container refuses io_uring the batches are the same") {
  if (kNoThreadsAfterFork) return;
  const OnDisk on_disk;
  const NeighborLoader in_place(on_disk.graph, on_disk.options(Location::kInPlace, 2));
  const Epoch expected = read_epoch(in_place, 0);
  CHECK(holds_in_child([&] {
    if (!refuse_calls(SYS_io_uring_setup, EPERM)) return true;
    LoaderOptions options = on_disk.options(Location::kDisk, 2);
    options.host.cache_rows = 50;
    const NeighborLoader loader(on_disk.graph, options);
    const std::vector<Batch> got = read_epoch(loader, 0).batches;
    return loader.placement()[0].why.find("threads") != std::string::npos &&
           std::equal(got.begin(), got.end(), expected.batches.begin(), expected.batches.end(),
                      [](const Batch& one, const Batch& other) {
                        return are_equal(one.tables[0], other.tables[0]);
                      });
  }));
}
