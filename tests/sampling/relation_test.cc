// What is derived from the arrays of a block, which whoever has the block may write to.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <vector>

#include "ramet/sampler.h"
#include "support/errors.h"
#include "support/fingerprints.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();

const std::vector<int64_t> kSeeds{1, 2, 3, 4};

Minibatch sample(const std::shared_ptr<const Graph>& graph, const Method& method = Uniform{}) {
  const SampleOptions options{{{3, 2}}, method, 5};
  return NeighborSampler(graph, options).sample({0, kSeeds}, 0, 0);
}

void require_refused(const std::function<void()>& call,
                     ErrorCode code = ErrorCode::kInvalidArgument) {
  test::check_throws(code, {"written to"}, call);
}

}  // namespace

TEST_CASE("offsets that were written to are errors, wherever they are read") {
  const auto graph = test::make_graph(50, 400, 3);
  const size_t last = kSeeds.size();
  for (const size_t at : {size_t{0}, size_t{1}, last - 1, last}) {
    for (const int64_t value : {kLow, int64_t{-1}, int64_t{13}, int64_t{1} << 40, kHigh}) {
      const Minibatch batch = sample(graph);
      const Relation& relation = batch.blocks.back().relations[0];
      REQUIRE(relation.indices.rows() == 12);
      static_cast<int64_t*>(relation.indptr.data)[at] = value;
      require_refused([&] { return edge_index(relation); });
      require_refused([&] { return edge_weights(relation); });
      require_refused([&] { return test::fingerprint_of(*graph, batch); });
      CHECK(positions(relation).rows() == 12);
    }
  }
}

TEST_CASE("offsets that descend, or end early, are errors") {
  const auto graph = test::make_graph(50, 400, 3);
  for (const std::vector<int64_t>& offsets :
       {std::vector<int64_t>{0, 9, 6, 9, 12}, {0, 3, 6, 9, 11}, {3, 3, 6, 9, 12}}) {
    const Minibatch batch = sample(graph);
    const Relation& relation = batch.blocks.back().relations[0];
    std::copy(offsets.begin(), offsets.end(), static_cast<int64_t*>(relation.indptr.data));
    require_refused([&] { return edge_index(relation); });
  }
}

TEST_CASE("positions that were written to are errors where ids are looked up") {
  // Edge ids are stored, since the edges are in no order.
  const auto graph = test::make_graph(50, 400, 3);
  REQUIRE(graph->edge_types()[0].has_edge_ids());
  for (const bool wide : {false, true}) {
    for (const int64_t value : {int64_t{-1}, int64_t{400}, wide ? kLow : -(int64_t{1} << 31)}) {
      Minibatch batch = sample(graph);
      Relation& relation = batch.blocks.back().relations[0];
      if (wide) relation.position = positions(relation);
      if (wide)
        static_cast<int64_t*>(relation.position.data)[5] = value;
      else
        static_cast<int32_t*>(relation.position.data)[5] = static_cast<int32_t>(value);
      require_refused([&] { return edge_ids(*graph, relation); }, ErrorCode::kOutOfRange);
      require_refused([&] { return test::fingerprint_of(*graph, batch); }, ErrorCode::kOutOfRange);
    }
  }
}

TEST_CASE("other garbage does no harm") {
  const auto graph = test::make_graph(50, 400, 3);
  const Minibatch batch = sample(graph, Labor{.weights = Weights::kHorvitzThompson});  // stored
  for (const Block& block : batch.blocks) {
    const Relation& relation = block.relations[0];
    std::fill_n(static_cast<int32_t*>(relation.indices.data), relation.indices.rows(), -7);
    std::fill_n(static_cast<float*>(relation.edge_weight.data), relation.edge_weight.rows(), -1.f);
  }
  std::fill_n(static_cast<int64_t*>(batch.n_id[0].data), batch.n_id[0].rows(), kLow);
  CHECK(test::fingerprint_of(*graph, batch).size() == 32);
  for (const Block& block : batch.blocks) {
    CHECK(edge_index(block.relations[0]).as<int64_t>()[0] == -7);
    CHECK(edge_weights(block.relations[0]).as<float>()[0] == -1);
  }
}
