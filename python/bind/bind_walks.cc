#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/walks.h"

namespace ramet::bind {

using PyWalkEdges = std::tuple<std::shared_ptr<const Graph>, int, std::string, std::string>;

void bind_walks(nb::module_& m) {
  // (nodes, edge ids or None). metapath: (graph, edge type, table of sums, table of times).
  m.def(
      "random_walks",
      [](const std::vector<PyWalkEdges>& metapath, const Ids& starts, int64_t length,
         double restart, double stop, std::optional<std::pair<double, double>> node2vec,
         bool decreasing, bool edge_ids, uint64_t seed, int threads) {
        const auto walks = [&] {
          const GilRelease release;
          std::vector<WalkEdges> path;
          for (const auto& [graph, edge_type, sums, times] : metapath)
            path.push_back({graph, edge_type, sums, times});
          WalkOptions options{.length = length,
                              .restart = restart,
                              .stop = stop,
                              .decreasing = decreasing,
                              .edge_ids = edge_ids,
                              .seed = seed,
                              .threads = threads};
          if (node2vec) options.node2vec = {node2vec->first, node2vec->second};
          return random_walks(path, borrow(starts), options);
        }();
        return nb::make_tuple(to_numpy(walks.nodes),
                              edge_ids ? to_numpy(walks.edge_ids) : nb::none());
      },
      nb::arg("metapath"), nb::arg("starts"), nb::arg("length"), nb::kw_only(), nb::arg("restart"),
      nb::arg("stop"), nb::arg("node2vec").none(), nb::arg("decreasing"), nb::arg("edge_ids"),
      nb::arg("seed"), nb::arg("threads"));

  m.def(
      "ppr_neighbors",
      [](const PyWalkEdges& walked, const Ids& seeds, int64_t count, double alpha, double epsilon,
         int threads) {
        const auto found = [&] {
          const GilRelease release;
          const auto& [graph, edge_type, sums, times] = walked;
          return ppr_neighbors(
              {graph, edge_type, sums, times}, borrow(seeds),
              {.count = count, .alpha = alpha, .epsilon = epsilon, .threads = threads});
        }();
        return nb::make_tuple(to_numpy(found.nodes), to_numpy(found.scores));
      },
      nb::arg("walked"), nb::arg("seeds"), nb::kw_only(), nb::arg("count"), nb::arg("alpha"),
      nb::arg("epsilon"), nb::arg("threads"));

  m.def(
      "weight_sums",
      [](const AnyArray& indptr, const AnyArray& weights, int threads) {
        const auto sums = [&] {
          const GilRelease release;
          return weight_sums(borrow(indptr), borrow(weights), threads);
        }();
        return to_numpy(sums);
      },
      nb::arg("indptr"), nb::arg("weights"), nb::kw_only(), nb::arg("threads"));

  m.def(
      "most_visited",
      [](const AnyArray& walks, int64_t walks_per_seed, int64_t stride, int64_t count,
         int threads) {
        const auto visited = [&] {
          const GilRelease release;
          return most_visited(borrow(walks), walks_per_seed, stride, count, threads);
        }();
        return nb::make_tuple(to_numpy(visited.nodes), to_numpy(visited.visits));
      },
      nb::arg("walks"), nb::kw_only(), nb::arg("walks_per_seed"), nb::arg("stride"),
      nb::arg("count"), nb::arg("threads"));
}

}  // namespace ramet::bind
