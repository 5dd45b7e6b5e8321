#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/negatives.h"

namespace ramet::bind {
namespace {

// (graph, edge type, whether rows are those of sources, table of times)
using PyPairRows = std::tuple<std::shared_ptr<const Graph>, int, bool, std::string>;
// (number of nodes, sums of weights, times)
using PyCandidates = std::tuple<int64_t, std::optional<AnyArray>, std::optional<AnyArray>>;

std::vector<PairRows> pair_rows(const std::vector<PyPairRows>& edges) {
  std::vector<PairRows> rows;
  for (const auto& [graph, edge_type, by_source, times] : edges)
    rows.push_back({graph, edge_type, by_source, times});
  return rows;
}

Candidates candidates(const PyCandidates& given) {
  const auto& [num_nodes, sums, created] = given;
  Candidates result{.num_nodes = num_nodes};
  if (sums) result.weight_sums = borrow(*sums);
  if (created) result.created = borrow(*created);
  return result;
}

Pairs pairs_of(const Ids& sources,
               const Ids& destinations,
               const Ids& ids,
               const std::optional<Ids>& times) {
  Pairs pairs{.sources = borrow(sources), .destinations = borrow(destinations), .ids = borrow(ids)};
  if (times) pairs.times = borrow(*times);
  return pairs;
}

}  // namespace

void bind_links(nb::module_& m) {
  m.def(
      "draw_negatives",
      [](const Ids& sources, const Ids& destinations, const Ids& ids,
         const std::optional<Ids>& times, int64_t amount, const std::string& corrupt,
         const PyCandidates& of_sources, const PyCandidates& of_destinations,
         const std::vector<PyPairRows>& edges, bool loops, uint64_t seed, uint64_t epoch,
         int threads) {
        const NegativeOptions options{.amount = amount,
                                      .corrupt = parse_corrupt(corrupt),
                                      .destinations = candidates(of_destinations),
                                      .sources = candidates(of_sources),
                                      .edges = pair_rows(edges),
                                      .loops = loops,
                                      .seed = seed,
                                      .epoch = epoch,
                                      .threads = threads};
        const Pairs pairs = pairs_of(sources, destinations, ids, times);
        const Array negatives = [&] {
          const GilRelease release;
          return draw_negatives(pairs, options);
        }();
        return to_numpy(negatives);
      },
      nb::arg("sources"), nb::arg("destinations"), nb::arg("ids"), nb::kw_only(),
      nb::arg("times").none(), nb::arg("amount"), nb::arg("corrupt"), nb::arg("of_sources"),
      nb::arg("of_destinations"), nb::arg("edges"), nb::arg("loops"), nb::arg("seed"),
      nb::arg("epoch"), nb::arg("threads"));

  m.def(
      "are_edges",
      [](const Ids& sources, const Ids& destinations, const std::optional<Ids>& times,
         const std::vector<PyPairRows>& edges, int threads) {
        const Pairs pairs = pairs_of(sources, destinations, sources, times);
        const Array found = [&] {
          const GilRelease release;
          return are_edges(pairs, pair_rows(edges), threads);
        }();
        return to_numpy(found);
      },
      nb::arg("sources"), nb::arg("destinations"), nb::kw_only(), nb::arg("times").none(),
      nb::arg("edges"), nb::arg("threads"));
}

}  // namespace ramet::bind
