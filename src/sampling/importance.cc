#include "importance.h"

#include <algorithm>

#include "ramet/sampler.h"

namespace ramet {
namespace {

bool takes_all(int64_t fanout, size_t degree) {
  return fanout == kAllNeighbors || static_cast<uint64_t>(fanout) >= degree;
}

// The sources of a row, each of them a node.
template <typename Id>
void load_sources(const RelationTask<Id>& task, const Row& row, std::vector<Id>& sources) {
  const auto first = static_cast<size_t>(row.begin), count = static_cast<size_t>(row.degree);
  const auto bound = static_cast<uint64_t>(task.num_src_nodes);
  sources.resize(count);
  with_ids(task.edges.indices, [&](auto stored) {
    for (size_t e = 0; e < count; ++e) {
      const auto id = stored[first + e];
      if (static_cast<uint64_t>(id) >= bound)
        refuse_source(task.edges, row.begin + static_cast<int64_t>(e), id, task.num_src_nodes);
      sources[e] = static_cast<Id>(id);
    }
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
    double sum = 0;
    int64_t count = 0;
    for (const double importance : p) {
      if (c * importance >= 1) {
        ++count;
      } else {
        sum += 1 / importance;
      }
    }
    if (count <= certain || count == static_cast<int64_t>(p.size())) return c;
    certain = count;
    c = sum / (target - static_cast<double>(count));
  }
}

template <typename Id>
void HopImportance<Id>::start(const Graph& graph) {
  const auto& types = graph.node_types();
  types_.resize(types.size());
  for (size_t t = 0; t < types.size(); ++t) {
    types_[t].candidates.prepare(graph, types[t].num_nodes);
    types_[t].candidates.start_batch({});
  }
  relations_.resize(std::max(relations_.size(), graph.edge_types().size()));
  num_relations_ = 0;
}

template <typename Id>
void HopImportance<Id>::add(const RelationTask<Id>& task) {
  OfRelation& relation = relations_[num_relations_++];
  relation.src = task.edges.src;
  relation.fanout = task.fanout;
  OfType& type = types_[static_cast<size_t>(relation.src)];
  RelationImportance& own = relation.importance;
  own.rows.clear();
  own.candidate.clear();
  own.first_edge.assign(1, 0);
  own.p = &type.p;
  if (task.fanout == 0) return;
  std::vector<Id> sources;
  for_each_row(task.edges, task.dst_nodes(), 0, task.num_dst, [&](int64_t, const Row& row) {
    own.rows.push_back(row);
    load_sources(task, row, sources);
    const size_t first = own.candidate.size();
    own.candidate.resize(first + sources.size());
    own.first_edge.push_back(own.candidate.size());
    type.candidates.reserve_more(sources.size());
    type.candidates.request(sources);
    type.candidates.relabel(sources, own.candidate.data() + first);
  });
}

template <typename Id>
void HopImportance<Id>::iterate(int64_t iterations) {
  for (OfType& type : types_)
    type.p.assign(type.candidates.ids().size(), 1.0);
  for (int64_t i = 0; i <= iterations; ++i) {
    for (OfType& type : types_)
      type.largest_c.assign(type.p.size(), 0.0);
    for (size_t r = 0; r < num_relations_; ++r) {
      solve(relations_[r]);
      raise(relations_[r]);
    }
    if (i == iterations) return;
    for (OfType& type : types_) {
      for (size_t t = 0; t < type.p.size(); ++t)
        type.p[t] *= type.largest_c[t];
    }
  }
}

template <typename Id>
void HopImportance<Id>::solve(OfRelation& relation) {
  RelationImportance& own = relation.importance;
  own.c.resize(own.rows.size());
  for (size_t i = 0; i < own.rows.size(); ++i) {
    row_p_.clear();
    for (const int32_t t : own.candidates(i))
      row_p_.push_back((*own.p)[static_cast<size_t>(t)]);
    own.c[i] = solve_c(row_p_, relation.fanout);
  }
}

template <typename Id>
void HopImportance<Id>::raise(const OfRelation& relation) {
  const RelationImportance& own = relation.importance;
  std::vector<double>& largest = types_[static_cast<size_t>(relation.src)].largest_c;
  for (size_t i = 0; i < own.rows.size(); ++i) {
    for (const int32_t t : own.candidates(i)) {
      double& c = largest[static_cast<size_t>(t)];
      c = std::max(c, own.c[i]);
    }
  }
}

template class HopImportance<int32_t>;
template class HopImportance<int64_t>;

}  // namespace ramet
