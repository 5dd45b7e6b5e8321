// Which items of an epoch form which batch, against docs/semantics.md, section 6, written plainly.
#include "loader/seeds/seed_plan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/permutation.h"
#include "loader/seeds/node_seeds.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/graph_fixture.h"
#include "support/store_fixture.h"

using namespace ramet;

namespace {

// The whole epoch as an array, cut into batches, these into slices.
std::vector<int64_t> slow_items(const SeedPlanOptions& options, int64_t epoch, int64_t step) {
  const uint64_t key = absorb(absorb(static_cast<uint64_t>(Domain::kShuffle), options.seed),
                              static_cast<uint64_t>(epoch));
  const Permutation shuffled(options.num_items, key);
  std::vector<int64_t> all(static_cast<size_t>(options.num_items));
  for (int64_t i = 0; i < options.num_items; ++i)
    all[static_cast<size_t>(i)] = options.shuffle ? shuffled(i) : i;
  const int64_t first = step * options.batch_size;
  const int64_t size = std::min(options.batch_size, options.num_items - first);
  std::vector<int64_t> mine;
  for (int64_t i = 0, at = first; i < options.world; ++i) {
    const int64_t count = size / options.world + (i < size % options.world ? 1 : 0);
    if (i == options.rank) mine.assign(all.begin() + at, all.begin() + at + count);
    at += count;
  }
  return mine;
}

}  // namespace

TEST_CASE("items of every rank and step are those of the slow twin") {
  for (const int64_t num_items : {0, 1, 5, 97, 128}) {
    for (const int64_t batch_size : {1, 7, 32, 1000}) {
      for (const int world : {1, 2, 5}) {
        for (const bool shuffle : {false, true}) {
          for (int rank = 0; rank < world; ++rank) {
            const SeedPlanOptions options{.num_items = num_items,
                                          .batch_size = batch_size,
                                          .shuffle = shuffle,
                                          .rank = rank,
                                          .world = world,
                                          .seed = 3};
            const SeedPlan plan(options);
            REQUIRE(plan.num_steps() == (num_items + batch_size - 1) / batch_size);
            for (int64_t step = 0; step < plan.num_steps(); ++step)
              REQUIRE(plan.items(2, step) == slow_items(options, 2, step));
          }
        }
      }
    }
  }
}

TEST_CASE("drop_last leaves out the batch that is not full") {
  CHECK(SeedPlan({.num_items = 100, .batch_size = 33, .drop_last = true}).num_steps() == 3);
  CHECK(SeedPlan({.num_items = 99, .batch_size = 33, .drop_last = true}).num_steps() == 3);
  CHECK(SeedPlan({.num_items = 32, .batch_size = 33, .drop_last = true}).num_steps() == 0);
}

TEST_CASE("items name the nodes of a list, of either width") {
  const auto graph = test::make_graph(3, 5, 1);
  const std::vector<int32_t> ids{30, 10, 20};
  const std::vector<int64_t> items{2, 0, 2}, times{7, 8, 9}, ends{1, 2, 3, 4, 5, 6};
  const auto seeds_of = [&](const InputNodes& nodes) {
    Batch batch;
    batch.input_id = copy(borrow(items));
    return NodeSeeds({nodes}, *graph).SeedSource::take(batch).types.front();
  };
  const auto listed = seeds_of({.ids = borrow(ids)});
  CHECK(listed.ids == std::vector<int64_t>{20, 30, 20});
  CHECK(listed.times.empty());
  CHECK(seeds_of({}).ids == items);
  Array windows = borrow(ends);
  windows.shape = {3, 2};
  CHECK(seeds_of({.times = windows}).times == std::vector<int64_t>{5, 6, 1, 2, 5, 6});
  const auto timed = seeds_of({.times = borrow(times)});
  CHECK(timed.times == std::vector<int64_t>{9, 7, 9});
}

TEST_CASE("items of several types are parted, each type's in order") {
  StoreContents contents;
  contents.node_counts = {{"author", 4}, {"paper", 6}};
  const auto graph = Graph::from_store(make_segment(contents));
  const std::vector<int64_t> ids{5, 3};
  const NodeSeeds seeds({{1, borrow(ids)}, {.node_type = 0}}, *graph);
  CHECK(seeds.num_items() == 6);
  const std::vector<int64_t> items{5, 1, 2, 0, 1};
  Batch batch;
  batch.input_id = copy(borrow(items));
  const SeedList taken = seeds.SeedSource::take(batch);
  CHECK(std::ranges::equal(batch.input_id.as<int64_t>(), std::vector<int64_t>{1, 0, 1, 3, 0}));
  REQUIRE(taken.types.size() == 2);
  CHECK(taken.types[0].type == 1);
  CHECK(taken.types[0].ids == std::vector<int64_t>{3, 5, 3});
  CHECK(taken.types[1].type == 0);
  CHECK(taken.types[1].ids == std::vector<int64_t>{3, 0});
}

TEST_CASE("a plan refuses what is no batch, rank, epoch or step") {
  const auto refuse = [](ErrorCode code, const std::string& words, auto&& body) {
    test::check_throws(code, {words}, body);
  };
  const auto invalid = ErrorCode::kInvalidArgument;
  refuse(invalid, "batch_size is 0, expected at least 1", [] { SeedPlan({.batch_size = 0}); });
  refuse(invalid, "world is 0", [] { SeedPlan({.world = 0}); });
  refuse(invalid, "rank is -1", [] { SeedPlan({.rank = -1}); });
  refuse(invalid, "rank is 2, expected less than world = 2",
         [] { SeedPlan({.rank = 2, .world = 2}); });
  const SeedPlan plan({.num_items = 10, .batch_size = 3});
  refuse(invalid, "epoch is -1", [&] { return plan.items(-1, 0); });
  for (const int64_t step : {int64_t{-1}, int64_t{4}, INT64_MAX}) {
    refuse(ErrorCode::kOutOfRange, "[0, 4)", [&] { return plan.items(0, step); });
    refuse(ErrorCode::kOutOfRange, "[0, 4)", [&] { return plan.global_size(step); });
  }
}
