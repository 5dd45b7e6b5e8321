#include "budget_sampler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ramet/store.h"
#include "sampling/excluded_edges.h"
#include "sampling/hop_sampler.h"

namespace ramet {
namespace {

template <typename To, typename From>
void copy_to(const Array& array, const std::vector<From>& values) {
  std::transform(values.begin(), values.end(), static_cast<To*>(array.data),
                 [](From value) { return static_cast<To>(value); });
}

}  // namespace

template <typename Id>
BudgetSampler<Id>::BudgetSampler(HopOptions options)
    : options_(std::move(options)),
      graph_(*options_.graph),
      driver_(options_.graph, options_.sample),
      nodes_(graph_.node_types().size()) {
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph_.node_types()) {
    ranges.push_back({0, type.num_nodes});
    type_hash_.push_back(hash_name(encode_name(type.name)));
  }
  const int64_t limit = direct_table_limit(graph_, ranges);
  for (size_t t = 0; t < nodes_.size(); ++t)
    nodes_[t].prepare(limit, ranges[t]);
}

template <typename Id>
Minibatch BudgetSampler<Id>::sample(std::span<const Seeds> seeds,
                                    uint64_t epoch,
                                    uint64_t step,
                                    const std::atomic<bool>* stop,
                                    std::span<const ExcludedEdges> excluded) {
  driver_.start(seeds, epoch, step);
  excluded_ = excluded_by_type(graph_, excluded);
  for (size_t t = 0; t < nodes_.size(); ++t)
    nodes_[t].start_batch(driver_.seeds(t));
  const auto& budgets = options_.sample.fanouts;
  const size_t num_hops = budgets.empty() ? 0 : budgets.front().size();
  std::vector<std::vector<int64_t>> ends{sizes()};  // after each hop
  for (size_t hop = 0; hop < num_hops; ++hop) {
    if (stop != nullptr && stop->load()) return {};
    share(hop == 0 ? std::vector<int64_t>(nodes_.size(), 0) : ends[hop - 1]);
    draw(hop);
    ends.push_back(sizes());
  }
  ends.push_back(sizes());  // a last hop, for the edges into the nodes of the hop before
  for (size_t hop = 0; hop <= num_hops; ++hop) {
    if (stop != nullptr && stop->load()) return {};
    Block block;
    const std::vector<ListRange> destinations = driver_.destinations(ends[hop]);
    set_destinations(block, destinations);
    for (size_t t = 0; t < graph_.edge_types().size(); ++t)
      block.relations.push_back(
          edges_into(t, destinations[static_cast<size_t>(graph_.edge_types()[t].dst)]));
    block.num_src = ends[hop + 1];
    driver_.add(std::move(block));
  }
  std::vector<Array> n_id;
  for (const auto& of_type : nodes_)
    n_id.push_back(to_int64(of_type.nodes(), *options_.pool));
  Minibatch batch = driver_.finish(std::move(n_id));
  batch.induced = true;
  return batch;
}

template <typename Id>
std::vector<int64_t> BudgetSampler<Id>::sizes() const {
  std::vector<int64_t> result;
  for (const auto& of_type : nodes_)
    result.push_back(std::ssize(of_type.nodes()));
  return result;
}

template <typename Id>
void BudgetSampler<Id>::share(std::span<const int64_t> before) {
  for (size_t edge_type = 0; edge_type < graph_.edge_types().size(); ++edge_type) {
    const EdgeType& edges = graph_.edge_types()[edge_type];
    const auto dst = static_cast<size_t>(edges.dst);
    const auto first = static_cast<size_t>(before[dst]);
    Candidates<Id>& sources = nodes_[static_cast<size_t>(edges.src)];
    const auto add = [&](std::span<const RowPiece> pieces, std::span<const Id> ids) {
      shares_.clear();
      for (const RowPiece& piece : pieces) {
        const bool repeats = nodes_[dst].repeats(first + static_cast<size_t>(piece.node));
        shares_.insert(shares_.end(), static_cast<size_t>(piece.count),
                       repeats ? 0 : 1 / static_cast<double>(piece.degree));
      }
      sources.add_shares(ids, shares_);
    };
    for_each_source(edge_type, nodes_[dst].nodes().subspan(first), add);
  }
}

template <typename Id>
void BudgetSampler<Id>::draw(size_t hop) {
  for (size_t t = 0; t < nodes_.size(); ++t)
    nodes_[t].draw(hop_keys(driver_.step_keys(), hop, type_hash_[t]),
                   options_.sample.fanouts[t][hop]);
}

template <typename Id>
Relation BudgetSampler<Id>::edges_into(size_t edge_type, const ListRange& destinations) {
  const EdgeType& edges = graph_.edge_types()[edge_type];
  BufferPool& pool = *options_.pool;
  Relation relation{.edge_type = static_cast<int>(edge_type),
                    .indptr = pool.allocate_array(DType::kInt64, {destinations.size() + 1}),
                    .indices = {},
                    .position = {},
                    .edge_weight = {}};
  auto* const indptr = static_cast<int64_t*>(relation.indptr.data);
  std::fill_n(indptr, destinations.size() + 1, 0);
  sources_.clear();
  positions_.clear();
  const auto keep = [&](std::span<const RowPiece> pieces, std::span<const Id> ids) {
    position_.resize(ids.size());
    nodes_[static_cast<size_t>(edges.src)].find(ids, position_.data());
    auto position = position_.begin();
    for (const RowPiece& piece : pieces) {
      for (int64_t p = piece.begin; p < piece.begin + piece.count; ++p, ++position) {
        if (*position < 0) continue;
        sources_.push_back(*position);
        positions_.push_back(p);
        ++indptr[piece.node + 1];
      }
    }
  };
  const auto nodes = destinations.of(nodes_[static_cast<size_t>(edges.dst)].nodes());
  for_each_source(edge_type, nodes, keep);
  for (int64_t i = 0; i < destinations.size(); ++i)
    indptr[i + 1] += indptr[i];
  const bool narrow = edges.num_edges() <= std::numeric_limits<int32_t>::max();
  const int64_t count = std::ssize(sources_);
  relation.indices = pool.allocate_array(DType::kInt32, {count});
  copy_to<int32_t>(relation.indices, sources_);
  relation.position = pool.allocate_array(narrow ? DType::kInt32 : DType::kInt64, {count});
  with_mutable_ids(relation.position, [&](auto* out) {
    copy_to<std::remove_pointer_t<decltype(out)>>(relation.position, positions_);
  });
  return relation;
}

template class BudgetSampler<int32_t>;
template class BudgetSampler<int64_t>;

}  // namespace ramet
