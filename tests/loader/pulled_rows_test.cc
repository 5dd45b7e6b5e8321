// Streams of ranks whose tables have rows on other machines: each rank has its own rows and those
// of the ranks that it reaches, and pulls the others.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "ramet/cooperative_loader.h"
#include "ramet/loader.h"
#include "support/errors.h"
#include "support/rank_threads.h"
#include "support/threads.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kPullRanks = 3, kPulledNodes = 500, kStride = 512;

// Ranks 0 and 1 are on one machine, rank 2 is on another.
bool reaches(int64_t rank, int64_t other) {
  return (rank == 2) == (other == 2);
}

float value_of(int64_t id) {
  return static_cast<float>(id) + 0.25F;
}

// A table of two columns, or of seeds alone: rows that a rank does not reach are NaNs there.
TableRequest request_of(int64_t rank, const Ownership& owners, bool at_seeds) {
  Array map = BufferPool::create()->allocate_array(map_dtype(owners, kStride), {kPulledNodes});
  write_map(owners, kStride, map);
  const RowPositions positions = RowPositions::strided(owners, kStride, map);
  const Array rows =
      BufferPool::create()->allocate_array(DType::kFloat32, {positions.num_positions(), 2});
  auto* const value = static_cast<float*>(rows.data);
  std::fill(value, value + 2 * positions.num_positions(), std::numeric_limits<float>::quiet_NaN());
  PulledTable pulled{Table(rows), positions, {}, static_cast<int>(rank)};
  for (int64_t other = 0; other < kPullRanks; ++other) {
    pulled.is_local.push_back(reaches(rank, other));
    if (!reaches(rank, other)) continue;
    const Array ids = positions.owned(other);
    for (int64_t i = 0; i < ids.rows(); ++i) {
      float* const row = value + 2 * (positions.positions_of(other).begin + i);
      row[0] = value_of(ids.as<int64_t>()[static_cast<size_t>(i)]);
      row[1] = -row[0];
    }
  }
  return {.name = "pulled", .at_seeds = at_seeds, .rows = std::move(pulled)};
}

// With a cache, rows of a table that no rank holds alone come through it.
struct Cache {
  int64_t rows = 0;
  CacheBy by = CacheBy::kAuto;
  int look_ahead = 16;
};

LoaderOptions options_of(
    int64_t rank, const Ownership& owners, int threads, int prefetch, const Cache& cache = {}) {
  LoaderOptions options;
  options.host = {.cache_rows = cache.rows, .cache_by = cache.by, .look_ahead = cache.look_ahead};
  options.sample = {.fanouts = {{4, 3}}, .seed = 5};
  options.batch_size = 50;
  options.shuffle = true;
  options.rank = static_cast<int>(rank);
  options.world = kPullRanks;
  options.threads = threads;
  options.prefetch = prefetch;
  options.tables = {
      request_of(rank, owners, true), {.name = "feat"}, request_of(rank, owners, false)};
  return options;
}

// Runs `program` on every rank at once.
using PullProgram =
    std::function<void(int64_t rank, const NeighborLoader&, const std::shared_ptr<GroupThread>&)>;

void run_pulls(const std::shared_ptr<const Graph>& graph,
               int threads,
               int prefetch,
               const PullProgram& program,
               const Cache& cache = {}) {
  Mail mail(kPullRanks);
  const Ownership owners = by_hash(*graph, kPullRanks).front();
  in_threads(kPullRanks, [&](int rank) {
    const NeighborLoader loader(graph, options_of(rank, owners, threads, prefetch, cache));
    program(rank, loader, std::make_shared<RankThread>(mail, size_t(rank)));
  });
}

bool has_its_rows(const Array& rows, std::span<const int64_t> ids) {
  const auto values = rows.as<float>();
  bool same = values.size() == 2 * ids.size();
  for (size_t i = 0; same && i < ids.size(); ++i)
    same = values[2 * i] == value_of(ids[i]) && values[2 * i + 1] == -value_of(ids[i]);
  return same;
}

bool is_right(const Batch& batch) {
  const auto ids = batch.minibatch.n_id[0].as<int64_t>();
  const auto own = batch.tables.at(1).as<float>();
  return has_its_rows(batch.tables.at(0),
                      ids.first(static_cast<size_t>(batch.minibatch.num_seeds))) &&
         own[0] == static_cast<float>(ids[0]) && has_its_rows(batch.tables.at(2), ids);
}

// The 60 nodes, of those that may be, that are in most batches or have most out-edges.
std::set<int64_t> held_nodes(const Graph& graph,
                             const std::vector<std::vector<int64_t>>& batches,
                             CacheBy by,
                             const std::function<bool(int64_t)>& may_be) {
  const std::vector<int64_t> degrees = out_degrees(graph);
  std::vector<int64_t> in_batches(kPulledNodes), ids;
  for (const auto& batch : batches)
    for (const int64_t node : batch)
      in_batches[static_cast<size_t>(node)] += by == CacheBy::kPresampling ? 1 : 0;
  for (int64_t node = 0; node < kPulledNodes; ++node)
    if (may_be(node)) ids.push_back(node);
  std::stable_sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) {
    const auto heat = [&](int64_t node) {
      return std::pair(in_batches[static_cast<size_t>(node)], degrees[static_cast<size_t>(node)]);
    };
    return heat(a) > heat(b);
  });
  return {ids.begin(), ids.begin() + std::min<int64_t>(60, std::ssize(ids))};
}

}  // namespace

TEST_CASE(
    "rows of other machines are pulled, in the order of steps, also for two streams at once") {
  const auto graph = make_graph(kPulledNodes, 4000, 1);
  for (const int threads : {0, 1, 3}) {
    int64_t right[kPullRanks] = {};
    run_pulls(graph, threads, 4,
              [&](int64_t rank, const NeighborLoader& loader, const auto& thread) {
                const auto one = loader.start(0, 0, thread), other = loader.start(1, 2, thread);
                while (const auto batch = one->next(kPatience)) {
                  right[rank] += is_right(*batch) ? 1 : 0;
                  if (const auto second = other->next(kPatience))
                    right[rank] += is_right(*second) ? 1 : 0;
                }
                close(*one);
                close(*other);
              });
    for (const int64_t batches : right)
      CHECK(batches == 10 + 8);
  }
}

TEST_CASE("with a cache the same rows come, and hits are up to the batches alone") {
  const auto graph = make_graph(kPulledNodes, 4000, 1);
  for (const Cache cache : {Cache{1, CacheBy::kAuto, 0}, Cache{100, CacheBy::kRecency, 0},
                            Cache{100, CacheBy::kAuto, 3}, Cache{kPulledNodes, CacheBy::kAuto, 100},
                            Cache{100, CacheBy::kDegree, 0}, Cache{90, CacheBy::kPresampling, 0}}) {
    std::vector<CacheStats> expected[kPullRanks];
    for (const int threads : {1, 3}) {
      bool right[kPullRanks] = {};
      std::vector<CacheStats> uses[kPullRanks];
      run_pulls(
          graph, threads, 2,
          [&](int64_t rank, const NeighborLoader& loader, const auto& thread) {
            right[rank] = true;
            for (const int64_t epoch : {0, 1}) {
              const auto stream = loader.start(epoch, 0, thread);
              while (const auto batch = stream->next(kPatience)) {
                right[rank] &= is_right(*batch);
                uses[rank].push_back(batch->cache);
              }
              close(*stream);
            }
          },
          cache);
      for (int64_t rank = 0; rank < kPullRanks; ++rank) {
        CHECK(right[rank]);
        CHECK(uses[rank].size() == 20);
        if (expected[rank].empty()) expected[rank] = uses[rank];
        CHECK(uses[rank] == expected[rank]);
        if (cache.rows > 1) CHECK(uses[rank].back().hits > 0);
      }
    }
  }
}

TEST_CASE("rows of other machines are held that are used most, each from its first use on") {
  const auto graph = make_graph(kPulledNodes, 4000, 1);
  const Ownership owners = by_hash(*graph, kPullRanks).front();
  for (const CacheBy by : {CacheBy::kDegree, CacheBy::kPresampling}) {
    std::vector<std::vector<int64_t>> nodes[kPullRanks];
    std::vector<CacheStats> uses[kPullRanks];
    run_pulls(graph, 2, 2,
              [&](int64_t rank, const NeighborLoader& loader, const auto& thread) {
                const auto stream = loader.start(0, 0, thread);
                while (const auto batch = stream->next(kPatience)) {
                  const auto ids = batch->minibatch.n_id[0].template as<int64_t>();
                  nodes[rank].emplace_back(ids.begin(), ids.end());
                  uses[rank].push_back(batch->cache);
                }
                close(*stream);
              },
              {.rows = 60, .by = by});
    for (int64_t rank = 0; rank < kPullRanks; ++rank) {
      // The epoch's batches are those that are presampled. Another table's rows are held in place.
      const auto held = held_nodes(*graph, nodes[rank], by, [](int64_t) { return true; });
      const auto far = held_nodes(*graph, nodes[rank], by,
                                  [&](int64_t node) { return !reaches(rank, owners.owner(node)); });
      std::set<int64_t> seen;
      for (size_t b = 0; b < nodes[rank].size(); ++b) {
        CacheStats expected;
        for (const int64_t node : nodes[rank][b]) {
          ++(held.count(node) > 0 ? expected.hits : expected.misses);
          if (reaches(rank, owners.owner(node))) continue;
          ++(far.count(node) > 0 && seen.count(node) > 0 ? expected.hits : expected.misses);
        }
        seen.insert(nodes[rank][b].begin(), nodes[rank][b].end());
        CHECK(uses[rank][b] == expected);
      }
    }
  }
}

TEST_CASE("a stream with pulled rows that is left early leaves the ranks in step") {
  const auto graph = make_graph(kPulledNodes, 4000, 1);
  bool right[kPullRanks] = {};
  run_pulls(graph, 2, 3,
            [&](int64_t rank, const NeighborLoader& loader, const auto& thread) {
              for (int64_t epoch = 0; epoch < 8; ++epoch) {
                const auto stream = loader.start(epoch, 0, thread);
                for (int64_t step = 0; step < epoch; ++step)
                  (void)stream->next(kPatience);
                if (epoch % 2 == 0) close(*stream);  // else the tasks outlive the stream
              }
              const auto stream = loader.start(5, 9, thread);
              right[rank] = is_right(*stream->next(kPatience));
              close(*stream);
            },
            {.rows = 50, .look_ahead = 4});
  for (const bool is : right)
    CHECK(is);
}

TEST_CASE("a rank that fails ends the streams of all that pull its rows") {
  const auto graph = make_graph(kPulledNodes, 4000, 1);
  bool has_failed[kPullRanks] = {};
  run_pulls(graph, 2, 2, [&](int64_t rank, const NeighborLoader& loader, const auto& thread) {
    const auto stream = loader.start(0, 0, thread);
    (void)stream->next(kPatience);
    if (rank == 1) thread->submit(std::make_unique<FailingTask>());
    has_failed[rank] = error_of(*stream) == ErrorCode::kIo && stream->done();
    close(*stream);
  });
  for (const bool failed : has_failed)
    CHECK(failed);
}

TEST_CASE("rows are not pulled without a thread, nor by one that drops its tasks") {
  const auto graph = make_graph(kPulledNodes, 500, 1);
  const NeighborLoader loader(graph, options_of(0, by_hash(*graph, kPullRanks).front(), 1, 1));
  check_throws(ErrorCode::kInvalidArgument, {"table 'pulled' has rows on other machines"},
               [&] { return loader.start(0); });
  const auto stream = loader.start(0, 1, std::make_shared<Nowhere>());
  check_throws(ErrorCode::kIo, {"epoch 0, step 1 was not made"},
               [&] { return stream->next(kPatience); });
  CHECK(stream->close(kPatience));
}
