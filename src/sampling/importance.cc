#include "importance.h"

#include <algorithm>
#include <limits>

#include "base/block_sum.h"
#include "base/prefetch.h"
#include "edge_scan.h"
#include "labor_edges.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

bool takes_all(int64_t fanout, size_t degree) {
  return fanout == kAllNeighbors || static_cast<uint64_t>(fanout) >= degree;
}

// The sources of the edges of row i, each of them a node, or their keys where trees are disjoint.
template <typename Id, typename Index, typename Edges>
void load_sources(const RelationTask<Id>& task,
                  std::span<const Index> stored,
                  const Row& row,
                  const Edges& edges,
                  size_t i,
                  std::vector<Id>& sources) {
  const auto bound = static_cast<uint64_t>(task.num_src_nodes);
  sources.resize(static_cast<size_t>(edges.size()));
  Id* source = sources.data();
  edges.for_each([&](int64_t x) {
    const int64_t position = row.begin + x;
    const Index id = stored[static_cast<size_t>(position)];
    if (static_cast<uint64_t>(id) >= bound)
      throw_bad_source(task.edges, position, id, task.num_src_nodes);
    *source++ = static_cast<Id>(id);
  });
  if (task.tree_nodes == nullptr) return;
  for (Id& of_edge : sources)
    of_edge = static_cast<Id>(task.source_keys->key(task.tree_nodes->trees[i], of_edge));
}

// The sum of term(p, share) over the edges of a row, as sum_in_blocks() adds.
template <typename Term>
double sum_of_edges(std::span<const double> p, std::span<const double> shares, const Term& term) {
  const double* share = shares.data();
  return sum_in_blocks(p, [&](double importance) { return term(importance, *share++); });
}

}  // namespace

// Sources with c p >= 1 count 1 each, whatever c is; leaving them out, the equation is linear. With
// the c that this gives more of them may reach 1, never fewer, so that a few rounds settle it.
double solve_c(std::span<const double> p, int64_t fanout) {
  if (takes_all(fanout, p.size())) return 1;
  const auto degree = static_cast<double>(p.size());
  const double target = degree * degree / static_cast<double>(fanout);
  double c = 0;
  int64_t certain = -1;
  for (;;) {
    int64_t count = 0;
    const double sum = sum_in_blocks(p, [&](double importance) {
      const bool is_certain = c * importance >= 1;
      if (!is_certain) return 1 / importance;
      ++count;
      return 0.0;
    });
    if (count <= certain || count == static_cast<int64_t>(p.size())) return c;
    certain = count;
    c = sum / (target - static_cast<double>(count));
  }
}

// The same rounds. The largest edges are certain; the others share what the fanout leaves.
double solve_c_of_shares(std::span<const double> shares, int64_t fanout) {
  if (takes_all(fanout, shares.size())) return std::numeric_limits<double>::infinity();
  double c = 0;
  int64_t certain = -1;
  for (;;) {
    int64_t count = 0;
    const double sum = sum_in_blocks(shares, [&](double share) {
      const bool is_certain = c * share >= 1;
      count += is_certain ? 1 : 0;
      return is_certain ? 0 : share;
    });
    if (count <= certain || count >= fanout) return c;
    certain = count;
    c = static_cast<double>(fanout - count) / sum;
  }
}

double variance_of_shares(std::span<const double> shares, double c) {
  return sum_in_blocks(
      shares, [c](double share) { return share * (share / std::min(1.0, c * share) - share); });
}

// Certain edges add nothing to the variance, and the others share^2 / (c p) - share^2. c grows from
// round to round, but where certain edges have nearly all of the weight, rounding may say else.
double solve_c(std::span<const double> p, std::span<const double> shares, double variance) {
  if (variance == 0) return 1;
  double c = 0;
  int64_t certain = -1;
  for (;;) {
    int64_t count = 0;
    const double sum = sum_of_edges(p, shares, [&](double importance, double share) {
      const bool is_certain = c * importance >= 1;
      count += is_certain ? 1 : 0;
      return is_certain ? 0 : share * (share / importance);
    });
    const double rest = sum_of_edges(p, shares, [&](double importance, double share) {
      return c * importance >= 1 ? 0 : share * share;
    });
    const double next = sum / (variance + rest);
    if (count <= certain || !(next > c)) return c;
    certain = count;
    c = next;
  }
}

std::span<const double> RelationImportance::shares(size_t i) const {
  return std::span(shares_).subspan(first_edge_[i], first_edge_[i + 1] - first_edge_[i]);
}

double RelationImportance::solve(size_t i, std::span<const double> p) const {
  if (proportional_.empty()) return solve_c(p, fanout_);
  return solve_c(p, shares(i), proportional_[i].variance);
}

// Entries of the next rows are requested while those of this one are read: they are all over
// memory.
void RelationImportance::load(size_t i, std::vector<double>& p) const {
  constexpr size_t kAhead = 64;
  const size_t first = first_edge_[i], end = first_edge_[i + 1];
  const Candidate* candidates = candidates_->data();
  p.resize(end - first);
  for (size_t e = first; e < end; ++e) {
    if (e + kAhead < candidate_.size()) prefetch(&candidates[candidate_[e + kAhead]]);
    p[e - first] = candidates[candidate_[e]].p;
  }
}

template <typename Id>
void HopImportance<Id>::prepare(const Graph& graph, const Labor& method, bool disjoint) {
  method_ = method;
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph.node_types())
    ranges.push_back({0, disjoint ? std::numeric_limits<int64_t>::max() : type.num_nodes});
  const int64_t limit = direct_table_limit(graph, ranges);
  types_.resize(ranges.size());
  for (size_t t = 0; t < ranges.size(); ++t)
    types_[t].index.prepare(limit, ranges[t]);
  relations_.resize(std::max(relations_.size(), graph.edge_types().size()));
}

template <typename Id>
void HopImportance<Id>::start() {
  for (OfType& type : types_)
    type.index.start_batch(std::span<const Id>());
  num_relations_ = 0;
}

template <typename Id>
void HopImportance<Id>::add(const RelationTask<Id>& task) {
  RelationImportance& relation = relations_[num_relations_++];
  relation.src_ = task.edges.src;
  relation.fanout_ = task.fanout;
  OfType& type = types_[static_cast<size_t>(relation.src_)];
  relation.candidates_ = &type.candidates;
  relation.candidate_.clear();
  relation.first_edge_.clear();
  relation.shares_.clear();
  relation.proportional_.clear();
  if (task.fanout == 0) return;
  relation.first_edge_.push_back(0);
  if (task.times == nullptr && method_.table.empty()) {
    add_rows(task, RemainingEdges<Id>(task), relation);
  } else {
    add_rows(task, LaborEdges<Id>(task, method_.table), relation);
  }
}

template <typename Id>
template <typename RowEdges>
void HopImportance<Id>::add_rows(const RelationTask<Id>& task,
                                 RowEdges edges,
                                 RelationImportance& relation) {
  NodeIndex<Id>& index = types_[static_cast<size_t>(relation.src_)].index;
  std::vector<Id> sources;
  const auto add_row = [&](auto stored, const Row& row, size_t i) {
    load_sources(task, stored, row, edges.of(stored, row, i), i, sources);
    const size_t first = relation.candidate_.size();
    relation.candidate_.resize(first + sources.size());
    relation.first_edge_.push_back(relation.candidate_.size());
    index.reserve_more(sources.size());
    index.request(sources);
    relabel<Id>(index, sources, relation.candidate_.data() + first);
    if constexpr (requires { edges.shares(); }) {
      if (method_.table.empty()) return;
      const std::span<const double> shares = edges.shares();
      const double c = solve_c_of_shares(shares, task.fanout);
      relation.shares_.insert(relation.shares_.end(), shares.begin(), shares.end());
      relation.proportional_.push_back({c, variance_of_shares(shares, c)});
    }
  };
  with_ids(task.edges.indices, [&](auto stored) {
    for_each_row(task.edges, task.dst_rows, task.dst_nodes(), 0, task.num_dst(),
                 [&](int64_t i, const Row& row) { add_row(stored, row, static_cast<size_t>(i)); });
  });
}

template <typename Id>
void HopImportance<Id>::iterate(const std::atomic<bool>* stop) {
  begin();
  for (int64_t i = 0; i < iterations() && (stop == nullptr || !stop->load()); ++i) {
    max_reduce();
    update();
  }
}

template <typename Id>
void HopImportance<Id>::begin() {
  is_first_ = true;
  for (OfType& type : types_)
    type.candidates.assign(type.index.ids().size(), {});
}

template <typename Id>
void HopImportance<Id>::max_reduce() {
  for (size_t r = 0; r < num_relations_; ++r)
    max_reduce(relations_[r]);
}

template <typename Id>
void HopImportance<Id>::update() {
  for (OfType& type : types_) {
    for (Candidate& candidate : type.candidates)
      candidate = {.p = candidate.p * candidate.largest_c};
  }
  is_first_ = false;
}

// With weights the first iteration makes the importance of a source the probability with which
// LABOR-0 picks it.
template <typename Id>
void HopImportance<Id>::max_reduce(const RelationImportance& relation) {
  std::vector<Candidate>& candidates = types_[static_cast<size_t>(relation.src_)].candidates;
  const auto raise = [&](size_t i, const auto& value_of) {
    for (size_t e = relation.first_edge_[i]; e < relation.first_edge_[i + 1]; ++e) {
      double& largest = candidates[static_cast<size_t>(relation.candidate_[e])].largest_c;
      largest = std::max(largest, value_of(e));
    }
  };
  for (size_t i = 0; i + 1 < relation.first_edge_.size(); ++i) {
    if (is_first_ && !relation.proportional_.empty()) {
      const double c = relation.proportional_[i].c;
      raise(i, [&](size_t e) { return std::min(1.0, c * relation.shares_[e]); });
    } else {
      relation.load(i, p_);
      raise(i, [c = relation.solve(i, p_)](size_t) { return c; });
    }
  }
}

template class HopImportance<int32_t>;
template class HopImportance<int64_t>;

}  // namespace ramet
