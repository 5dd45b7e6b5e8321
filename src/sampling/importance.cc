#include "importance.h"

#include <algorithm>

#include "base/block_sum.h"
#include "base/prefetch.h"
#include "excluded_edges.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

bool takes_all(int64_t fanout, size_t degree) {
  return fanout == kAllNeighbors || static_cast<uint64_t>(fanout) >= degree;
}

// The sources of a row, each of them a node, without those of excluded edges.
template <typename Id>
void load_sources(const RelationTask<Id>& task, const Row& row, std::vector<Id>& sources) {
  const auto bound = static_cast<uint64_t>(task.num_src_nodes);
  const auto excluded = excluded_in(task.excluded, row);
  sources.resize(static_cast<size_t>(row.degree) - excluded.size());
  Id* source = sources.data();
  with_ids(task.edges.indices, [&](auto stored) {
    for_each_run(row, excluded, [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position) {
        const auto id = stored[static_cast<size_t>(position)];
        if (static_cast<uint64_t>(id) >= bound)
          throw_bad_source(task.edges, position, id, task.num_src_nodes);
        *source++ = static_cast<Id>(id);
      }
    });
  });
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
void HopImportance<Id>::prepare(const Graph& graph, int64_t iterations) {
  iterations_ = iterations;
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph.node_types())
    ranges.push_back({0, type.num_nodes});
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
  if (task.fanout == 0) return;
  relation.first_edge_.push_back(0);
  std::vector<Id> sources;
  for_each_row(task.edges, task.dst_rows, task.dst_nodes(), 0, task.num_dst(),
               [&](int64_t, const Row& row) {
                 load_sources(task, row, sources);
                 const size_t first = relation.candidate_.size();
                 relation.candidate_.resize(first + sources.size());
                 relation.first_edge_.push_back(relation.candidate_.size());
                 type.index.reserve_more(sources.size());
                 type.index.request(sources);
                 relabel<Id>(type.index, sources, relation.candidate_.data() + first);
               });
}

template <typename Id>
void HopImportance<Id>::iterate(const std::atomic<bool>* stop) {
  begin();
  for (int64_t i = 0; i < iterations_ && (stop == nullptr || !stop->load()); ++i) {
    max_reduce();
    update();
  }
}

template <typename Id>
void HopImportance<Id>::begin() {
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
}

template <typename Id>
void HopImportance<Id>::max_reduce(const RelationImportance& relation) {
  std::vector<Candidate>& candidates = types_[static_cast<size_t>(relation.src_)].candidates;
  for (size_t i = 0; i + 1 < relation.first_edge_.size(); ++i) {
    relation.load(i, p_);
    const double c = solve_c(p_, relation.fanout_);
    for (size_t e = relation.first_edge_[i]; e < relation.first_edge_[i + 1]; ++e) {
      double& largest = candidates[static_cast<size_t>(relation.candidate_[e])].largest_c;
      largest = std::max(largest, c);
    }
  }
}

template class HopImportance<int32_t>;
template class HopImportance<int64_t>;

}  // namespace ramet
