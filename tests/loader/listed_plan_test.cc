// Batches that a caller lists, and single ones.
#include "loader/seeds/listed_plan.h"

#include <doctest/doctest.h>

#include <vector>

#include "loader/loader_fixture.h"
#include "ramet/error.h"
#include "ramet/fingerprint.h"
#include "support/errors.h"
#include "support/fingerprints.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/store_fixture.h"
#include "support/streams.h"

using namespace ramet;

namespace {

using Items = std::vector<int64_t>;

const BatchList kThree{{4, 4, 0, 1, 2, 3, 5, 6}, {0, 3, 3, 8}};

// Every third node, backwards.
Items some_nodes() {
  Items nodes;
  for (int64_t v = 999; v >= 0; v -= 3)
    nodes.push_back(v);
  return nodes;
}

LoaderOptions options_of_some(int threads) {
  LoaderOptions options = test::options_for(threads);
  const Items nodes = some_nodes();
  options.inputs.front().ids = copy(borrow(nodes));
  return options;
}

Items of(const Array& ids) {
  return test::numbers(ids);
}

void require_same(const Graph& graph, const Batch& got, const Batch& expected) {
  REQUIRE(test::fingerprint_of(graph, got.minibatch) ==
          test::fingerprint_of(graph, expected.minibatch));
  REQUIRE(of(got.input_id) == of(expected.input_id));
  REQUIRE(of(got.minibatch.n_id[0]) == of(expected.minibatch.n_id[0]));
  REQUIRE(got.epoch == expected.epoch);
  REQUIRE(got.step == expected.step);
  REQUIRE(got.global_num_seeds == expected.global_num_seeds);
  const auto rows = got.tables[0].as<float>(), others = expected.tables[0].as<float>();
  REQUIRE(std::vector(rows.begin(), rows.end()) == std::vector(others.begin(), others.end()));
}

// The epoch of `loader`, as a list.
BatchList listed(const std::vector<Batch>& batches) {
  BatchList list{{}, {0}};
  for (const Batch& batch : batches) {
    const Items items = of(batch.input_id);
    list.order.insert(list.order.end(), items.begin(), items.end());
    list.offsets.push_back(std::ssize(list.order));
  }
  return list;
}

}  // namespace

TEST_CASE("a list has its batches, repeated and empty ones among them, in slices") {
  const ListedPlan plan(kThree, 7, 0, 1);
  REQUIRE(plan.num_steps() == 3);
  CHECK(plan.items(0, 0) == Items{4, 4, 0});
  CHECK(plan.items(9, 1).empty());
  CHECK(plan.items(0, 2) == Items{1, 2, 3, 5, 6});
  CHECK(plan.global_size(2) == 5);
  CHECK(ListedPlan(kThree, 7, 0, 2).items(0, 2) == Items{1, 2, 3});
  CHECK(ListedPlan(kThree, 7, 1, 2).items(0, 2) == Items{5, 6});
  CHECK(ListedPlan(kThree, 7, 1, 2).global_size(2) == 5);
  CHECK(ListedPlan({{}, {0}}, 7, 0, 1).num_steps() == 0);
}

TEST_CASE("a list that is none is named") {
  const auto refuse = [](ErrorCode code, const std::string& words, const BatchList& list) {
    test::check_throws(code, {words}, [&] { ListedPlan(list, 3, 0, 1); });
  };
  const auto invalid = ErrorCode::kInvalidArgument, outside = ErrorCode::kOutOfRange;
  refuse(invalid, "offsets is empty", {{}, {}});
  refuse(invalid, "offsets[0] is 1, expected 0", {{0}, {1, 1}});
  refuse(invalid, "offsets[2] is 1, expected at least offsets[1] = 2", {{0, 1}, {0, 2, 1, 2}});
  refuse(invalid, "offsets[1], the last, is 3, expected 2", {{0, 1}, {0, 3}});
  refuse(outside, "order[1] is 3, outside [0, 3) of the input nodes", {{0, 3}, {0, 2}});
  refuse(outside, "order[0] is -1, outside [0, 3)", {{-1}, {0, 1}});
  for (const int64_t step : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
    test::check_throws(ErrorCode::kOutOfRange, {"step is", "[0, 3)"},
                       [&] { return ListedPlan(kThree, 7, 0, 1).items(0, step); });
  }
}

TEST_CASE("input_id has the seeds' positions in the input nodes") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const Items nodes = some_nodes();
  const NeighborLoader loader(graph, options_of_some(2));
  std::vector<bool> is_seen(nodes.size());
  for (const Batch& batch : test::rest_of(*loader.start(3))) {
    const Items items = of(batch.input_id), n_id = of(batch.minibatch.n_id[0]);
    REQUIRE(std::ssize(items) == batch.minibatch.num_seeds);
    for (size_t i = 0; i < items.size(); ++i) {
      const auto item = static_cast<size_t>(items[i]);
      REQUIRE(nodes.at(item) == n_id[i]);
      REQUIRE(!is_seen[item]);
      is_seen[item] = true;
    }
  }
  CHECK(is_seen == std::vector<bool>(nodes.size(), true));
}

TEST_CASE("each rank has the input_id of its slice, also of a list") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader alone(graph, test::options_for(1));
  const std::vector<Batch> whole = test::rest_of(*alone.start(2));
  std::vector<Items> joined(whole.size()), joined_list(whole.size());
  for (int rank = 0; rank < 3; ++rank) {
    const NeighborLoader loader(graph, test::options_for(2, rank, 3));
    CHECK(loader.fingerprint() == alone.fingerprint());
    const auto append = [](std::vector<Items>& to, const Batch& batch) {
      for (const int64_t item : of(batch.input_id))
        to[static_cast<size_t>(batch.step)].push_back(item);
    };
    for (const Batch& batch : test::rest_of(*loader.start(2)))
      append(joined, batch);
    for (const Batch& batch : test::rest_of(*loader.start(2, 0, listed(whole))))
      append(joined_list, batch);
  }
  for (size_t step = 0; step < whole.size(); ++step) {
    REQUIRE(joined[step] == of(whole[step].input_id));
    REQUIRE(joined_list[step] == joined[step]);
  }
}

TEST_CASE("an epoch's batches, listed or made one by one, are the same for any threads") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader alone(graph, options_of_some(1));
  const std::vector<Batch> expected = test::rest_of(*alone.start(3));
  REQUIRE(expected.size() == 11);
  const BatchList list = listed(expected);
  for (const int threads : {1, 2, 3}) {
    const NeighborLoader loader(graph, options_of_some(threads));
    for (const int64_t first : {0, 4, 11}) {
      const std::vector<Batch> batches = test::rest_of(*loader.start(3, first, list));
      REQUIRE(std::ssize(batches) == 11 - first);
      for (const Batch& batch : batches)
        require_same(*graph, batch, expected[static_cast<size_t>(batch.step)]);
    }
    for (const Batch& batch : expected)
      require_same(*graph, loader.make(batch.input_id.as<int64_t>(), 3, batch.step), batch);
    CHECK(loader.summary().batches == 11 + 7);
  }
}

TEST_CASE("chosen positions may repeat, or be none") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_of_some(2));
  const std::vector<Batch> batches = test::rest_of(*loader.start(0, 0, kThree));
  REQUIRE(batches.size() == 3);
  CHECK(of(batches[0].input_id) == Items{4, 4, 0});
  CHECK(batches[0].minibatch.num_seeds == 3);
  CHECK(batches[1].minibatch.num_seeds == 0);
  CHECK(batches[1].tables[0].rows() == 0);
  for (const Batch& batch : batches)
    require_same(*graph, loader.make(batch.input_id.as<int64_t>(), 0, batch.step), batch);
}

TEST_CASE("positions, steps and epochs that are none are named") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_of_some(2));
  const Items beyond{0, 334};
  test::check_throws(ErrorCode::kOutOfRange, {"positions[1] is 334, outside [0, 334)"},
                     [&] { return loader.make(beyond, 0, 0); });
  test::check_throws(ErrorCode::kOutOfRange, {"order[1] is 334, outside [0, 334)"},
                     [&] { return loader.start(0, 0, {beyond, {0, 2}}); });
  const Items good{0};
  test::check_throws(ErrorCode::kInvalidArgument, {"epoch is -1"},
                     [&] { return loader.make(good, -1, 0); });
  test::check_throws(ErrorCode::kInvalidArgument, {"step is -1"},
                     [&] { return loader.make(good, 0, -1); });
  test::check_throws(ErrorCode::kInvalidArgument, {"cannot start at epoch 0, step 4 of 3"},
                     [&] { return loader.start(0, 4, kThree); });
}
