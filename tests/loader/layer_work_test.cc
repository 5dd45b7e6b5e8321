// What a loader's threads compute for layers: means of a fused table, transposed blocks.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "ramet/aggregate.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "support/graph_fixture.h"
#include "support/streams.h"

using namespace ramet;

namespace {

LoaderOptions work_options(bool fused) {
  LoaderOptions options;
  options.sample = {{{4, 3}}, Uniform{}, 5};
  options.batch_size = 33;
  options.threads = 2;
  options.tables = {{.name = "feat", .fused = fused}};
  return options;
}

std::vector<Batch> work_of_epoch(const NeighborLoader& loader) {
  return test::rest_of(*loader.start(0));
}

}  // namespace

TEST_CASE("means of a fused table are those of gathered rows") {
  const auto graph = test::make_graph(500, 3000, 2);
  auto plain = work_of_epoch(NeighborLoader(graph, work_options(false)));
  auto fused = work_of_epoch(NeighborLoader(graph, work_options(true)));
  REQUIRE(plain.size() == fused.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const Array& all = plain[i].tables[0];
    const Block& block = plain[i].minibatch.blocks[0];
    Array expected = BufferPool::shared()->allocate_array(all.dtype, {block.num_dst[0], 2});
    expected.writable = true;
    aggregate(*block_edges(*graph, plain[i], 0, 0), all, expected, {.reduce = Reduce::kMean});
    REQUIRE(fused[i].means.size() == 1);
    const TableMeans& means = fused[i].means[0];
    CHECK(means.table == 0);
    CHECK(means.edge_type == 0);
    REQUIRE(means.rows.shape == expected.shape);
    const auto bytes = static_cast<size_t>(expected.bytes());
    CHECK(std::memcmp(means.rows.data, expected.data, bytes) == 0);
    REQUIRE(fused[i].tables[0].shape == expected.shape);
    CHECK(std::memcmp(fused[i].tables[0].data, all.data, bytes) == 0);
    CHECK(size_of(fused[i]).bytes == size_of(plain[i]).bytes - all.bytes() + 2 * expected.bytes());
  }
}

TEST_CASE("blocks are transposed ahead as asked") {
  const auto graph = test::make_graph(500, 3000, 2);
  for (const auto& [ahead, first, second] : {std::tuple{TransposeAhead::kNone, false, false},
                                             {TransposeAhead::kInner, false, true},
                                             {TransposeAhead::kAll, true, true}}) {
    LoaderOptions options = work_options(true);
    options.transpose = ahead;
    for (Batch& batch : work_of_epoch(NeighborLoader(graph, options))) {
      CHECK(block_edges(*graph, batch, 0, 0)->is_transposed() == first);
      CHECK(block_edges(*graph, batch, 1, 0)->is_transposed() == second);
    }
  }
}

TEST_CASE("how rows come is no part of a loader's fingerprint") {
  const auto graph = test::make_graph(500, 3000, 2);
  LoaderOptions options = work_options(true);
  options.transpose = TransposeAhead::kAll;
  CHECK(NeighborLoader(graph, options).fingerprint() ==
        NeighborLoader(graph, work_options(false)).fingerprint());
}

TEST_CASE("a table that cannot be fused is refused by name") {
  const auto graph = test::make_graph_with_edge_table(500, 3000, 2);
  const auto make = [&](const LoaderOptions& options) { return NeighborLoader(graph, options); };
  LoaderOptions options = work_options(true);
  options.sample.expand = Expand::kOnce;
  CHECK_THROWS_WITH_AS(
      make(options),
      "table 'feat' is fused with the first block, but with expand 'once' there are no blocks",
      Error);
  options = work_options(true);
  options.tables[0].at_seeds = true;
  CHECK_THROWS_WITH_AS(
      make(options),
      "table 'feat' is fused with the first block, but is not asked for at the nodes of a type",
      Error);
  options.tables = {{.name = "weight", .edge_type = 0, .fused = true}};
  CHECK_THROWS_AS(make(options), Error);
  Array rows = BufferPool::create()->allocate_array(DType::kInt64, {500});
  std::memset(rows.data, 0, static_cast<size_t>(rows.bytes()));
  options.tables = {{.name = "feat", .fused = true, .rows = ProvidedTable{Table(rows)}}};
  CHECK_THROWS_WITH_AS(make(options),
                       "table 'feat' is fused with the first block, but its rows are int64, "
                       "expected float32, float16 or bfloat16",
                       Error);
}
