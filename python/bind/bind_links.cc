#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/links.h"
#include "ramet/negatives.h"

namespace ramet::bind {
namespace {

// (graph, edge type, whether rows are those of sources, table of times)
using PyPairRows = std::tuple<std::shared_ptr<const Graph>, int, bool, std::string>;
// (number of nodes, sums of weights, times, past)
using PyCandidates = std::
    tuple<int64_t, std::optional<AnyArray>, std::optional<AnyArray>, std::optional<PyPairRows>>;

using MaybeIds = std::optional<Ids>;

Array copied(const MaybeIds& ids) {
  return ids ? copy(ramet::borrow(borrow(*ids))) : Array{};
}

PairRows pair_rows(const PyPairRows& edges) {
  const auto& [graph, edge_type, by_source, times] = edges;
  return {graph, edge_type, by_source, times};
}

std::vector<PairRows> pair_rows(const std::vector<PyPairRows>& edges) {
  std::vector<PairRows> rows;
  for (const PyPairRows& of_type : edges)
    rows.push_back(pair_rows(of_type));
  return rows;
}

Candidates candidates(const PyCandidates& given) {
  const auto& [num_nodes, sums, created, past] = given;
  Candidates result{.num_nodes = num_nodes};
  if (sums) result.weight_sums = keep(*sums, false);
  if (created) result.created = keep(*created, false);
  if (past) result.past = pair_rows(*past);
  return result;
}

void bind_inputs(nb::module_& m) {
  nb::class_<Exclusion>(m, "Exclusion")
      .def(
          "__init__",
          [](Exclusion* self, int edge_type, bool reversed) {
            new (self) Exclusion{edge_type, reversed};
          },
          nb::arg("edge_type"), nb::kw_only(), nb::arg("reversed"));

  nb::class_<LinkNegatives>(m, "LinkNegatives")
      .def(
          "__init__",
          [](LinkNegatives* self, double amount, const std::string& corrupt,
             const PyCandidates& of_sources, const PyCandidates& of_destinations,
             const std::vector<PyPairRows>& edges, bool loops, const std::string& missing,
             bool fixed, bool in_batch, const std::optional<AnyArray>& given) {
            new (self) LinkNegatives{.amount = amount,
                                     .options = {.corrupt = parse_corrupt(corrupt),
                                                 .destinations = candidates(of_destinations),
                                                 .sources = candidates(of_sources),
                                                 .edges = pair_rows(edges),
                                                 .loops = loops,
                                                 .when_none = parse_when_none(missing)},
                                     .fixed = fixed,
                                     .in_batch = in_batch,
                                     .given = given ? keep(*given, false) : Array{}};
          },
          nb::kw_only(), nb::arg("amount"), nb::arg("corrupt"), nb::arg("of_sources"),
          nb::arg("of_destinations"), nb::arg("edges"), nb::arg("loops"), nb::arg("missing"),
          nb::arg("fixed"), nb::arg("in_batch"), nb::arg("given").none());

  nb::class_<InputEdges>(m, "InputEdges")
      .def(
          "__init__",
          [](InputEdges* self, int src, int dst, int edge_type,
             const std::optional<AnyArray>& positions, const MaybeIds& sources,
             const MaybeIds& destinations, const MaybeIds& times,
             std::optional<LinkNegatives> negatives, std::vector<Exclusion> excluded,
             int64_t excluded_below) {
            new (self) InputEdges{.src = src,
                                  .dst = dst,
                                  .edge_type = edge_type,
                                  .positions = positions ? keep(*positions, false) : Array{},
                                  .sources = copied(sources),
                                  .destinations = copied(destinations),
                                  .times = copied(times),
                                  .negatives = std::move(negatives),
                                  .excluded = std::move(excluded),
                                  .excluded_below = excluded_below};
          },
          nb::kw_only(), nb::arg("src"), nb::arg("dst"), nb::arg("edge_type"),
          nb::arg("positions").none(), nb::arg("sources").none(), nb::arg("destinations").none(),
          nb::arg("times").none(), nb::arg("negatives").none(), nb::arg("excluded"),
          nb::arg("excluded_below"));
}

Pairs pairs_of(std::span<const int64_t> sources,
               std::span<const int64_t> destinations,
               std::span<const int64_t> ids,
               const MaybeIds& times) {
  return {.sources = sources,
          .destinations = destinations,
          .ids = ids,
          .times = times ? borrow(*times) : std::span<const int64_t>()};
}

}  // namespace

void bind_links(nb::module_& m) {
  m.attr("MAX_NEGATIVES") = kMaxNegatives;
  m.attr("ANY_DEGREE") = kAnyDegree;
  nb::enum_<LinkOrder>(m, "LinkOrder")
      .value("FIRST_OCCURRENCE", LinkOrder::kFirstOccurrence)
      .value("PYG", LinkOrder::kPyg);
  bind_inputs(m);
  m.def(
      "draw_negatives",
      [](std::span<const int64_t> sources, std::span<const int64_t> destinations,
         std::span<const int64_t> ids, const MaybeIds& times, int64_t amount,
         const std::string& corrupt, const PyCandidates& of_sources,
         const PyCandidates& of_destinations, const std::vector<PyPairRows>& edges, bool loops,
         uint64_t seed, uint64_t epoch, int threads) {
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
        const GilRelease release;
        return draw_negatives(pairs, options);
      },
      nb::arg("sources"), nb::arg("destinations"), nb::arg("ids"), nb::kw_only(),
      nb::arg("times").none(), nb::arg("amount"), nb::arg("corrupt"), nb::arg("of_sources"),
      nb::arg("of_destinations"), nb::arg("edges"), nb::arg("loops"), nb::arg("seed"),
      nb::arg("epoch"), nb::arg("threads"));

  m.def("rows_are_sorted", [](const Graph& graph, int edge_type) {
    const GilRelease release;
    return rows_are_sorted(graph.edge_types().at(static_cast<size_t>(edge_type)));
  });
  m.def("has_loops", [](const Graph& graph, int edge_type) {
    const GilRelease release;
    return has_loops(graph.edge_types().at(static_cast<size_t>(edge_type)));
  });

  m.def(
      "are_edges",
      [](std::span<const int64_t> sources, std::span<const int64_t> destinations,
         const MaybeIds& times, const std::vector<PyPairRows>& edges, int threads) {
        const Pairs pairs = pairs_of(sources, destinations, sources, times);
        const GilRelease release;
        return are_edges(pairs, pair_rows(edges), threads);
      },
      nb::arg("sources"), nb::arg("destinations"), nb::kw_only(), nb::arg("times").none(),
      nb::arg("edges"), nb::arg("threads"));
}

}  // namespace ramet::bind
