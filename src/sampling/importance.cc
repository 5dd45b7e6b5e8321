#include "importance.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "base/prefetch.h"
#include "edge_scan.h"
#include "kernels/cpu/isa_kernels.h"
#include "labor_edges.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

// With as many edges and more per node, numbers are ids.
constexpr double kEdgesForIds = 0.25;
constexpr size_t kShortRow = 4096;  // whose c is looked up by its degree
constexpr size_t kNumbersBehind = kNumbersAhead + kLaborPadding;  // that are read behind the last

// Writes the sources of the edges of a row, each of them a node.
template <typename Index, typename Out>
void copy_sources(const RelationRows& task,
                  std::span<const Index> stored,
                  const Row& row,
                  const EdgeNumbers& edges,
                  Out* out) {
  const auto bound = static_cast<uint64_t>(task.num_src_nodes);
  const Index* const of_row = stored.data() + row.begin;
  bool all_are = true;
  edges.for_each([&all_are, of_row, bound, to = out](int64_t x) mutable {
    const Index id = of_row[x];
    all_are &= static_cast<uint64_t>(id) < bound;
    *to++ = static_cast<Out>(id);
  });
  if (all_are) [[likely]]
    return;
  edges.for_each([&](int64_t x) {  // others may write to what is read: into what it reads
    const Index id = of_row[x];
    if (static_cast<uint64_t>(id) >= bound)
      throw_bad_source(task.edges, row.begin + x, id, task.num_src_nodes);
    *out++ = static_cast<Out>(id);
  });
}

template <typename T>
void make_room(ZeroedArray<T>& table, size_t size, bool may_grow) {
  if (size > table.size()) table = ZeroedArray<T>(may_grow ? std::bit_ceil(size) : size);
}

}  // namespace

std::span<const double> RelationImportance::shares(size_t i) const {
  return std::span(shares_).subspan(first_edge_[i], first_edge_[i + 1] - first_edge_[i]);
}

double RelationImportance::solve(size_t i, RowImportance& row) const {
  load(i, row);
  const std::span<const double> p(row.p(), row.size());
  if (!proportional_.empty()) return solve_c_of_variance(p, shares(i), proportional_[i].variance);
  return solve_c(p, std::span<const double>(row.inverse(), row.size()), fanout_);
}

double RelationImportance::first_c(size_t i) const {
  if (!proportional_.empty()) return proportional_[i].c;
  return solve_c_of_ones(first_edge_[i + 1] - first_edge_[i], fanout_);
}

void RelationImportance::load(size_t i, RowImportance& row) const {
  const size_t first = first_edge_[i], count = first_edge_[i + 1] - first;
  row.resize(count);
  const LaborKernel& kernel = best_kernels().labor;
  const int32_t* const number = number_.data() + first;
  const auto size = static_cast<int64_t>(count);
  if (const RankedC* ranked = importances_->ranked)
    return kernel.ranked(importances_->rank.data(), number, size, ranked->value(),
                         ranked->inverse(), row.p(), row.inverse());
  kernel.importances(importances_->p.data(), number, size, row.p(), row.inverse());
}

void RelationImportance::reserve(size_t num_edges, size_t kept) {
  number_.reserve(num_edges + kNumbersBehind, kept);
}

void RelationImportance::add_first_c(RankedC& ranked) const {
  std::vector<bool> is_added(kShortRow);
  for (size_t i = 0; i + 1 < first_edge_.size(); ++i) {
    const size_t degree = first_edge_[i + 1] - first_edge_[i];
    if (degree < kShortRow) {
      if (is_added[degree]) continue;
      is_added[degree] = true;
    }
    ranked.add(first_c(i));
  }
}

void RelationImportance::raise_ranks(const RankedC& ranked, RankedC::Rank* largest) const {
  std::vector<RankedC::Rank> by_degree(kShortRow);
  const int32_t* const number = number_.data();
  for (size_t i = 0; i + 1 < first_edge_.size(); ++i) {
    const size_t degree = first_edge_[i + 1] - first_edge_[i];
    RankedC::Rank rank = degree < kShortRow ? by_degree[degree] : 0;
    if (rank == 0) rank = ranked.of(first_c(i));
    if (degree < kShortRow) by_degree[degree] = rank;
    for (size_t e = first_edge_[i]; e < first_edge_[i + 1]; ++e) {
      prefetch(&largest[number[e + kNumbersAhead]]);
      RankedC::Rank& of_source = largest[number[e]];
      of_source = std::max(of_source, rank);
    }
  }
}

template <typename Id>
void HopImportance<Id>::prepare(const Graph& graph,
                                const Labor& method,
                                bool disjoint,
                                int threads) {
  method_ = method;
  threads_ = threads;
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph.node_types())
    ranges.push_back({0, disjoint ? std::numeric_limits<int64_t>::max() : type.num_nodes});
  const int64_t limit = direct_table_limit(graph, ranges);
  types_.resize(ranges.size());
  for (size_t t = 0; t < ranges.size(); ++t) {
    types_[t].index.prepare(limit, ranges[t]);
    types_[t].num_nodes = ranges[t].end;
    types_[t].may_have_ids = ranges[t].end <= std::numeric_limits<int32_t>::max();
  }
  relations_.resize(std::max(relations_.size(), graph.edge_types().size()));
}

template <typename Id>
void HopImportance<Id>::start(bool listed) {
  listed_ = listed;
  for (OfType& type : types_) {
    type.index.start_batch(std::span<const Id>());
    type.expected_edges = 0;
    type.has_ids = false;
  }
  num_relations_ = 0;
}

template <typename Id>
void HopImportance<Id>::expect(const RelationTask<Id>& task) {
  if (task.fanout == 0 || task.num_dst() == 0) return;
  OfType& type = types_[static_cast<size_t>(task.edges.src)];
  const auto num_rows = static_cast<double>(task.edges.indptr.rows() - 1);
  type.expected_edges +=
      static_cast<double>(task.num_dst()) / num_rows * static_cast<double>(task.edges.num_edges());
  type.has_ids = type.may_have_ids && !listed_ &&
                 type.expected_edges >= kEdgesForIds * static_cast<double>(type.num_nodes);
}

template <typename Id>
void HopImportance<Id>::add(const RelationTask<Id>& task) {
  RelationImportance& relation = relations_[num_relations_++];
  relation.src_ = task.edges.src;
  relation.fanout_ = task.fanout;
  OfType& type = types_[static_cast<size_t>(relation.src_)];
  relation.has_ids_ = type.has_ids;
  relation.importances_ = &type.importances;
  relation.first_edge_.clear();
  relation.shares_.clear();
  relation.proportional_.clear();
  if (task.fanout == 0) return;
  relation.first_edge_.push_back(0);
  with_ids(task.edges.indices, [&](auto stored) { add_rows(task, stored, relation); });
}

template <typename Id>
template <typename Index>
void HopImportance<Id>::add_rows(const RelationTask<Id>& task,
                                 std::span<const Index> stored,
                                 RelationImportance& relation) {
  constexpr size_t kTogether = 4096;  // sources that are relabeled
  std::vector<Id> sources;
  struct Reader {
    LaborEdges edges;
    static constexpr bool reads_sources() { return true; }
    void request(const Row& row, size_t /*i*/) const { edges.request(row); }
    void touch(const Row& row, size_t /*i*/) const { edges.touch(row); }
  } reader{{task, method_.table}};
  LaborEdges& edges = reader.edges;
  const auto add_row = [&](size_t i, const Row& row) {
    const EdgeNumbers of_row = edges.of(row, i);
    const auto count = static_cast<size_t>(of_row.size());
    const size_t first = relation.num_edges();
    relation.first_edge_.push_back(first + count);
    if (edges.have_weights()) relation.add_shares(edges.shares(), edges.solve_c(task.fanout));
    if (relation.has_ids_) {
      relation.reserve(first + count, first);
      return copy_sources(task, stored, row, of_row, relation.number_.data() + first);
    }
    sources.resize(sources.size() + count);
    const auto added = std::span(sources).last(count);
    copy_sources(task, stored, row, of_row, added.data());
    if (task.tree_nodes != nullptr) {
      for (Id& source : added)
        source = static_cast<Id>(task.source_keys->key(task.tree_nodes->trees[i], source));
    }
    if (sources.size() >= kTogether) add_candidates(sources, relation);
  };
  for (int64_t first = 0; first < task.num_dst(); first += kPieceRows) {
    const auto rows = read_piece(task, first, std::min(first + kPieceRows, task.num_dst()));
    for_each_row_ahead(task, {static_cast<size_t>(first), rows}, reader, add_row);
  }
  add_candidates(sources, relation);
  relation.reserve(relation.num_edges(), relation.num_edges());
  std::fill_n(relation.number_.data() + relation.num_edges(), kNumbersBehind, 0);
}

// The last edges of the relation have these sources.
template <typename Id>
void HopImportance<Id>::add_candidates(std::vector<Id>& sources, RelationImportance& relation) {
  NodeIndex<Id>& index = types_[static_cast<size_t>(relation.src_)].index;
  const size_t first = relation.num_edges() - sources.size();
  relation.reserve(relation.num_edges(), first);
  index.reserve_more(sources.size());
  request_and_relabel<Id>(index, sources, relation.number_.data() + first);
  sources.clear();
}

void RelationImportance::add_shares(std::span<const double> shares, double c) {
  shares_.insert(shares_.end(), shares.begin(), shares.end());
  proportional_.push_back({c, variance_of_shares(shares, c)});
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
  const bool is_ranked = !listed_ && method_.table.empty() && rank_c();
  for (OfType& type : types_) {
    Importances& of_type = type.importances;
    of_type.ranked = is_ranked ? &ranked_ : nullptr;
    if (is_ranked) make_room(of_type.rank, type.size(), !type.has_ids);
    if (is_ranked && iterations() == 1) continue;
    make_room(of_type.p, type.size(), !type.has_ids);
    make_room(of_type.largest_c, type.size(), !type.has_ids);
  }
}

template <typename Id>
bool HopImportance<Id>::rank_c() {
  ranked_.clear();
  for (size_t r = 0; r < num_relations_; ++r)
    relations_[r].add_first_c(ranked_);
  return ranked_.sort();
}

template <typename Id>
void HopImportance<Id>::max_reduce() {
  for (OfType& type : types_) {
    Importances& of_type = type.importances;
    if (of_type.ranked != nullptr)
      std::fill_n(of_type.rank.data(), type.size(), RankedC::Rank{0});
    else
      std::fill_n(of_type.largest_c.data(), type.size(), 0);
  }
  for (size_t r = 0; r < num_relations_; ++r)
    max_reduce(relations_[r]);
}

// All are 1 before the first iteration.
template <typename Id>
void HopImportance<Id>::update() {
  for (OfType& type : types_) {
    Importances& of_type = type.importances;
    double* const p = of_type.p.data();
    if (of_type.ranked != nullptr) {
      if (iterations() == 1) continue;
      const double* const values = std::exchange(of_type.ranked, nullptr)->value();
      std::transform(of_type.rank.data(), of_type.rank.data() + type.size(), p,
                     [values](RankedC::Rank rank) { return values[rank]; });
    } else if (is_first_) {
      std::swap(of_type.p, of_type.largest_c);
    } else {
      const double* const largest_c = of_type.largest_c.data();
      for (size_t i = 0; i < type.size(); ++i)
        p[i] *= largest_c[i];
    }
  }
  is_first_ = false;
}

template <typename Id>
void HopImportance<Id>::solve(const RelationImportance& relation) {
  const int64_t num_rows = std::ssize(relation.first_edge_) - 1;
  c_.resize(static_cast<size_t>(num_rows));
  parallel_for(num_rows, kPieceRows, threads_, [&](int64_t begin, int64_t end) {
    RowImportance row;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      c_[i] = is_first_ ? relation.first_c(i) : relation.solve(i, row);
  });
}

// With weights the first iteration makes the importance of a source the probability with which
// LABOR-0 picks it.
template <typename Id>
void HopImportance<Id>::max_reduce(const RelationImportance& relation) {
  if (relation.first_edge_.empty()) return;
  Importances& importances = types_[static_cast<size_t>(relation.src_)].importances;
  if (importances.ranked != nullptr) return relation.raise_ranks(ranked_, importances.rank.data());
  solve(relation);
  double* const largest_c = importances.largest_c.data();
  const int32_t* const number = relation.number_.data();
  const auto raise = [&](size_t i, const auto& value_of) {
    for (size_t e = relation.first_edge_[i]; e < relation.first_edge_[i + 1]; ++e) {
      prefetch(&largest_c[number[e + kNumbersAhead]]);
      double& largest = largest_c[number[e]];
      largest = std::max(largest, value_of(e));
    }
  };
  const bool by_shares = is_first_ && !relation.shares_.empty();
  for (size_t i = 0; i < c_.size(); ++i) {
    const double c = c_[i];
    if (by_shares) {
      raise(i, [&](size_t e) { return std::min(1.0, c * relation.shares_[e]); });
    } else {
      raise(i, [&](size_t) { return c; });
    }
  }
}

template class HopImportance<int32_t>;
template class HopImportance<int64_t>;

}  // namespace ramet
