// A batch's seeds are the distinct ends of its pairs, so that a node that is in several pairs is
// sampled once. Disjoint trees have a seed for every end. A negative has ends of its own; one that
// it has not is its pair's.
#include "link_seeds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/sorted_search.h"
#include "sampling/node_index.h"
#include "sampling/rows.h"

namespace ramet {
namespace {

bool are_edges(const InputEdges& edges) {
  return edges.sources.data == nullptr;
}

// The positions in the CSC of pairs that are edges.
std::vector<int64_t> edges_at(const InputEdges& edges, std::span<const int64_t> positions) {
  if (edges.positions.data != nullptr) return rows_at(edges.positions, positions);
  return {positions.begin(), positions.end()};
}

// The nodes in whose rows the edges are: of each the last v with indptr[v] <= position.
std::vector<int64_t> destinations_of(const EdgeType& edges, std::span<const int64_t> positions) {
  std::vector<SortedSearch> searches;
  for (const int64_t position : positions)
    searches.push_back({1, edges.indptr.rows() - 1, position + 1});
  search_sorted(edges.indptr, {0, edges.num_edges()}, searches);
  std::vector<int64_t> found;
  for (const SortedSearch& search : searches)
    found.push_back(search.begin - 1);
  return found;
}

// How many negatives the pair number `i` of a global batch has: so many that the first n pairs have
// ceil(n amount).
int64_t num_negatives(double amount, int64_t i) {
  const auto up_to = [&](int64_t n) { return std::ceil(static_cast<double>(n) * amount); };
  return static_cast<int64_t>(up_to(i + 1) - up_to(i));
}

void sort_distinct(std::vector<int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

// Seeds by node type, in the order in which they are added, and where each is among its type's.
class LinkSeeds::Ends {
 public:
  Ends(bool is_disjoint, LinkOrder order) : is_disjoint_(is_disjoint), order_(order) {}

  void add(const InputEdges& edges, const BatchPairs& of_batch) {
    const PairList& pairs = of_batch.pairs;
    const std::vector<Negative>& negatives = of_batch.negatives;
    Begins& begins = begins_.emplace_back();
    const auto add_negative_sources = [&] {
      begins.negative_source = add(edges.src, pairs, negatives, &Negative::source);
    };
    begins.source = add(edges.src, pairs.sources, pairs.times);
    if (order_ == LinkOrder::kPyg) add_negative_sources();
    begins.destination = add(edges.dst, pairs.destinations, pairs.times);
    begins.negative_destination = add(edges.dst, pairs, negatives, &Negative::destination);
    if (order_ != LinkOrder::kPyg) add_negative_sources();
  }

  // Leaves each node once, unless trees are disjoint.
  void finish() {
    for (SeedList::OfType& seeds : types_) {
      std::vector<int32_t>& local = local_.emplace_back(seeds.ids.size());
      if (is_disjoint_) {
        std::iota(local.begin(), local.end(), 0);
        continue;
      }
      NodeIndex<int64_t> index;
      if (order_ == LinkOrder::kPyg) {
        std::vector<int64_t> ascending = seeds.ids;
        sort_distinct(ascending);
        index.start_batch(std::span<const int64_t>(ascending));
      } else {
        index.start_batch(std::span<const int64_t>());
        index.reserve_more(seeds.ids.size());
      }
      index.relabel(seeds.ids, local.data());
      seeds.ids.assign(index.ids().begin(), index.ids().end());
      seeds.times.clear();
    }
  }

  // Of input k. After finish().
  [[nodiscard]] Links links(size_t k,
                            const InputEdges& edges,
                            const BatchPairs& of_batch,
                            BufferPool& pool) const {
    const auto& [pairs, negatives] = of_batch;
    const auto num_pairs = pairs.sources.size(), columns = num_pairs + negatives.size();
    const Begins& begins = begins_[k];
    const int32_t* const of_src = local_of(edges.src);
    const int32_t* const of_dst = local_of(edges.dst);
    Links links{
        .num_pairs = static_cast<int64_t>(num_pairs),
        .edge_label_index = pool.allocate_array(DType::kInt64, {2, static_cast<int64_t>(columns)}),
        .pair_of_negative = pool.allocate_array(DType::kInt64, {std::ssize(negatives)})};
    auto* const sources = static_cast<int64_t*>(links.edge_label_index.data);
    auto* const pair_of = static_cast<int64_t*>(links.pair_of_negative.data);
    auto* const destinations = sources + columns;
    std::copy_n(of_src + begins.source, num_pairs, sources);
    std::copy_n(of_dst + begins.destination, num_pairs, destinations);
    size_t next_source = begins.negative_source, next_destination = begins.negative_destination;
    for (size_t i = 0; i < negatives.size(); ++i) {
      const auto& [pair, number, source, destination] = negatives[i];
      sources[num_pairs + i] = source == kKept ? sources[pair] : of_src[next_source++];
      destinations[num_pairs + i] =
          destination == kKept ? destinations[pair] : of_dst[next_destination++];
      pair_of[i] = static_cast<int64_t>(pair);
    }
    return links;
  }

  [[nodiscard]] std::vector<SeedList::OfType> take() { return std::move(types_); }

 private:
  // Where seeds begin among those of their type.
  struct Begins {
    size_t source, destination, negative_source, negative_destination;
  };

  size_t add(int type, std::span<const int64_t> ids, std::span<const int64_t> times) {
    SeedList::OfType& seeds = types_[index_of(type)];
    const size_t begin = seeds.ids.size();
    seeds.ids.insert(seeds.ids.end(), ids.begin(), ids.end());
    seeds.times.insert(seeds.times.end(), times.begin(), times.end());
    return begin;
  }

  size_t add(int type,
             const PairList& pairs,
             const std::vector<Negative>& negatives,
             int64_t Negative::* end) {
    std::vector<int64_t> ids, times;
    for (const Negative& negative : negatives) {
      if (negative.*end == kKept) continue;
      ids.push_back(negative.*end);
      if (!pairs.times.empty()) times.push_back(pairs.times[negative.pair]);
    }
    return add(type, ids, times);
  }

  size_t index_of(int type) {
    for (size_t i = 0; i < types_.size(); ++i)
      if (types_[i].type == type) return i;
    types_.push_back({.type = type});
    return types_.size() - 1;
  }

  [[nodiscard]] const int32_t* local_of(int type) const {
    size_t i = 0;
    while (types_[i].type != type)
      ++i;
    return local_[i].data();
  }

  const bool is_disjoint_;
  const LinkOrder order_;
  std::vector<SeedList::OfType> types_;
  std::vector<std::vector<int32_t>> local_;  // of the seeds of a type
  std::vector<Begins> begins_;               // by input
};

LinkSeeds::LinkSeeds(std::shared_ptr<const Graph> graph, const LoaderOptions& options)
    : graph_(std::move(graph)),
      is_disjoint_(options.sample.disjoint),
      order_(options.link_order),
      seed_(options.sample.seed) {
  for (const InputEdges& edges : options.links) {
    Input input{edges, num_items_, num_pairs(edges, *graph_), {}};
    for (const Exclusion& rule : edges.excluded) {
      const EdgeType* const type = &graph_->edge_types()[static_cast<size_t>(rule.edge_type)];
      const bool into_both = type->src == type->dst;
      if (input.into_sources == nullptr && (into_both || rule.reversed)) input.into_sources = type;
      if (input.into_destinations == nullptr && (into_both || !rule.reversed))
        input.into_destinations = type;
      Finder& finder = input.finders.emplace_back(Finder{rule, std::nullopt});
      const bool is_itself = are_edges(edges) && rule.edge_type == edges.edge_type;
      if (!is_itself || rule.reversed) finder.edges.emplace(*graph_, rule.edge_type);
    }
    num_items_ += input.num_items;
    inputs_.push_back(std::move(input));
  }
}

SeedList LinkSeeds::take(Batch& batch, const DrawNegatives& draw) const {
  const std::span<int64_t> items = mutable_items(batch);
  const std::vector<int64_t> all(items.begin(), items.end());
  Ends ends(is_disjoint_, order_);
  std::vector<BatchPairs> of_inputs;
  auto out = items.begin();
  for (const Input& input : inputs_) {
    PairList pairs = pairs_of(input, all);
    std::vector<Negative> negatives = negatives_of(input, pairs, all, batch, draw);
    out = std::copy(pairs.positions.begin(), pairs.positions.end(), out);
    of_inputs.push_back({std::move(pairs), std::move(negatives)});
    ends.add(input.edges, of_inputs.back());
  }
  ends.finish();
  batch.links.clear();
  for (size_t k = 0; k < inputs_.size(); ++k)
    batch.links.push_back(ends.links(k, inputs_[k].edges, of_inputs[k], *BufferPool::shared()));
  return {.types = ends.take(), .excluded = excluded_for(batch, of_inputs)};
}

LinkSeeds::PairList LinkSeeds::pairs_of(const Input& input, std::span<const int64_t> items) const {
  const InputEdges& edges = input.edges;
  PairList pairs;
  for (const int64_t item : items) {
    const int64_t position = item - input.first_item;
    if (0 <= position && position < input.num_items) pairs.positions.push_back(position);
  }
  if (are_edges(edges)) {
    const EdgeType& type = graph_->edge_types()[static_cast<size_t>(edges.edge_type)];
    const std::vector<int64_t> found = edges_at(edges, pairs.positions);
    pairs.sources = rows_at(type.indices, found);
    pairs.destinations = destinations_of(type, found);
  } else {
    pairs.sources = rows_at(edges.sources, pairs.positions);
    pairs.destinations = rows_at(edges.destinations, pairs.positions);
  }
  if (edges.times.data != nullptr) pairs.times = rows_at(edges.times, pairs.positions);
  return pairs;
}

Array LinkSeeds::draw_for(const Input& input,
                          const PairList& pairs,
                          const Batch& batch,
                          const DrawNegatives& draw) const {
  const LinkNegatives& negatives = *input.edges.negatives;
  NegativeOptions options = negatives.options;
  options.amount = static_cast<int64_t>(std::ceil(negatives.amount)) * draws_each(options.corrupt);
  options.seed = seed_;
  options.epoch = negatives.fixed ? 0 : static_cast<uint64_t>(batch.epoch);
  options.threads = 1;
  PairList global;
  if (negatives.in_batch) {
    global = pairs_of(input, batch.global_items);
    options.sources.among = borrow(std::span<const int64_t>(global.sources));
    options.destinations.among = borrow(std::span<const int64_t>(global.destinations));
  }
  return draw(static_cast<size_t>(&input - inputs_.data()),
              {.sources = pairs.sources,
               .destinations = pairs.destinations,
               .ids = pairs.positions,
               .times = pairs.times},
              options);
}

std::vector<LinkSeeds::Negative> LinkSeeds::negatives_of(const Input& input,
                                                         const PairList& pairs,
                                                         std::span<const int64_t> items,
                                                         const Batch& batch,
                                                         const DrawNegatives& draw) const {
  std::vector<Negative> negatives;
  if (!input.edges.negatives) return negatives;
  const Array& given = input.edges.negatives->given;
  const double amount = input.edges.negatives->amount;
  const bool is_given = given.data != nullptr;
  const Array drawn = is_given ? given : draw_for(input, pairs, batch, draw);
  const auto nodes = drawn.as<int64_t>();
  const Corrupt corrupt = is_given ? Corrupt::kDestination : input.edges.negatives->options.corrupt;
  const int64_t draws = draws_each(corrupt);
  size_t pair = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t position = items[i] - input.first_item;
    if (position < 0 || position >= input.num_items) continue;
    const int64_t count = num_negatives(amount, batch.first_item + static_cast<int64_t>(i));
    const int64_t row = is_given ? position : static_cast<int64_t>(pair);
    for (int64_t j = 0; j < count; ++j) {
      Negative negative{.pair = pair, .number = j};
      bool is_missing = false;
      for (int64_t d = j * draws; d < (j + 1) * draws; ++d) {
        const int64_t node = nodes[static_cast<size_t>(row * drawn.shape[1] + d)];
        (replaces_source(corrupt, d) ? negative.source : negative.destination) = node;
        is_missing |= node == kNoNegative;
      }
      if (!is_missing) negatives.push_back(negative);
    }
    ++pair;
  }
  if (order_ == LinkOrder::kPyg)
    std::stable_sort(negatives.begin(), negatives.end(),
                     [](const Negative& a, const Negative& b) { return a.number < b.number; });
  return negatives;
}

std::vector<SeedList::Excluded> LinkSeeds::excluded_for(
    const Batch& batch, const std::vector<BatchPairs>& of_inputs) const {
  const bool is_global = batch.input_id.rows() == std::ssize(batch.global_items);
  std::vector<SeedList::Excluded> excluded;
  const auto of_type = [&](int edge_type) -> std::vector<int64_t>& {
    for (SeedList::Excluded& edges : excluded)
      if (edges.edge_type == edge_type) return edges.positions;
    return excluded.emplace_back(SeedList::Excluded{.edge_type = edge_type}).positions;
  };
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Input& input = inputs_[k];
    if (input.finders.empty()) continue;
    PairList others = is_global ? PairList() : pairs_of(input, batch.global_items);
    const PairList* pairs = is_global ? &of_inputs[k].pairs : &others;
    if (input.edges.excluded_below != kAnyDegree) {
      others = of_low_degree(input, *pairs);
      pairs = &others;
    }
    for (const Finder& finder : input.finders)
      append_excluded(input.edges, finder, *pairs, of_type(finder.rule.edge_type));
  }
  for (SeedList::Excluded& edges : excluded)
    sort_distinct(edges.positions);
  return excluded;
}

LinkSeeds::PairList LinkSeeds::of_low_degree(const Input& input, const PairList& pairs) {
  const int64_t bound = input.edges.excluded_below;
  const auto is_low = [&](const EdgeType* into, int64_t node) {
    return into != nullptr &&
           read_row(*into, into->indptr.as<int64_t>().data(), node).degree < bound;
  };
  PairList low;
  for (size_t i = 0; i < pairs.positions.size(); ++i) {
    if (!is_low(input.into_sources, pairs.sources[i]) &&
        !is_low(input.into_destinations, pairs.destinations[i]))
      continue;
    low.positions.push_back(pairs.positions[i]);
    low.sources.push_back(pairs.sources[i]);
    low.destinations.push_back(pairs.destinations[i]);
  }
  return low;
}

void LinkSeeds::append_excluded(const InputEdges& edges,
                                const Finder& finder,
                                const PairList& pairs,
                                std::vector<int64_t>& positions) {
  if (!finder.edges) {
    const std::vector<int64_t> found = edges_at(edges, pairs.positions);
    positions.insert(positions.end(), found.begin(), found.end());
    return;
  }
  const bool reversed = finder.rule.reversed;
  const auto& from = reversed ? pairs.destinations : pairs.sources;
  const auto& to = reversed ? pairs.sources : pairs.destinations;
  finder.edges->find(from, to, positions);
}

int64_t num_pairs(const InputEdges& edges, const Graph& graph) {
  if (!are_edges(edges)) return edges.sources.rows();
  if (edges.positions.data != nullptr) return edges.positions.rows();
  return graph.edge_types()[static_cast<size_t>(edges.edge_type)].num_edges();
}

}  // namespace ramet
