// LABOR-i's candidates on a device, a part of the in-edges at a time: which part, nobody can see.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "sampling/cuda/cuda_importance.h"

namespace ramet::test {
namespace {

constexpr int64_t kFanout = 4;

struct Result {
  int64_t num_in_edges;
  std::vector<double> p;  // by candidate
};

// The importances of the sources of `seeds`' in-edges.
Result importances(const std::shared_ptr<const Graph>& graph,
                   const std::vector<int64_t>& seeds,
                   int64_t candidates_at_once) {
  const CudaStream stream(0);
  const CudaWork work{0, stream.handle(), DevicePool::create(0)->on(stream.handle())};
  const auto topology = CudaGraph::create(graph, 0, Location::kDevice);
  const SampleOptions options{{}, Labor{2}};
  CudaReport report(work, 5);  // bad row, bad pick, in-edges, nodes, candidates
  report.clear_bad(0, 2);
  CudaNodes nodes(work, graph->node_types()[0].num_nodes, report.at(3));
  nodes.start_batch(seeds);
  CudaRelationScratch scratch;
  scratch.candidates_at_once = candidates_at_once;
  std::vector<CudaRelationBuilder> relations;
  relations.emplace_back(work, *topology, options, 0, CudaBad{report.bad(0), report.bad(1)},
                         RowOrder::kAsGiven);
  relations[0].start(kFanout, nodes, {0, nodes.size()}, CudaExcluded(), scratch);
  report.set(2, relations[0].counted());
  report.wait();
  relations[0].set_counted(report[2]);
  CudaImportances result(work, *graph, {}, 2, report.at(4));
  result.start(relations, scratch);
  report.wait();
  REQUIRE(!report.is_bad(1));
  result.set_sizes(std::vector<int64_t>{report[4]});
  result.iterate(relations, nullptr);
  std::vector<double> p(static_cast<size_t>(report[4]));
  work.copy(p.data(), result.p(0), static_cast<int64_t>(p.size() * sizeof(double)));
  work.wait();
  return {report[2], p};
}

TEST_CASE("candidates are the same, however many in-edges are numbered at once") {
  const auto graph = uneven_graph(3000, 20'000, 31);
  const std::vector<int64_t> seeds{7, 11, 5, 7, 100, 2999};
  const Result together = importances(graph, seeds, int64_t{1} << 24);
  REQUIRE(together.num_in_edges > 2000);
  for (const int64_t at_once : {256, 512, 1792}) {
    CAPTURE(at_once);
    CHECK(importances(graph, seeds, at_once).p == together.p);
  }
}

}  // namespace
}  // namespace ramet::test
