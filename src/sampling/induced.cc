#include "ramet/induced.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/parallel.h"
#include "excluded_edges.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "relabel.h"
#include "rows.h"

namespace ramet {
namespace {

struct InducedEdge {
  int64_t source, destination, position;
};

int64_t num_groups(const NodeGroups& nodes) {
  return static_cast<int64_t>(nodes.offsets.size()) - 1;
}

void require_offsets(const NodeGroups& nodes, const char* what) {
  const auto& [ids, offsets] = nodes;
  if (offsets.empty() || offsets.front() != 0 ||
      offsets.back() != static_cast<int64_t>(ids.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw_invalid("offsets of ", what, " do not ascend from 0 to ", ids.size());
}

// A set of ids that answers "perhaps", or, for 15 of 16 ids that are not in it, "no": by a bit that
// is tested in a nanosecond. Most sources of a row are not in the group, and a search for each
// would take the branch predictor by surprise.
class IdFilter {
 public:
  // What a loop keeps in registers; valid until the next assign().
  struct View {
    const uint64_t* words;
    int shift;

    [[nodiscard]] size_t bit(int64_t id) const {
      return static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15 >> shift;
    }
    [[nodiscard]] bool may_have(int64_t id) const {
      return (words[bit(id) / 64] >> bit(id) % 64 & 1) != 0;
    }
  };

  void assign(std::span<const int64_t> ids) {
    constexpr size_t kBitsPerId = 16;
    const size_t num_bits = std::bit_ceil(std::max<size_t>(64, kBitsPerId * ids.size()));
    words_.assign(num_bits / 64, 0);
    shift_ = 64 - std::countr_zero(num_bits);
    for (const int64_t id : ids)
      words_[view().bit(id) / 64] |= uint64_t{1} << view().bit(id) % 64;
  }
  [[nodiscard]] View view() const { return {words_.data(), shift_}; }

 private:
  std::vector<uint64_t> words_;
  int shift_ = 0;
};

// Finds the edges of groups, one after the other; one thread. Memory is kept between groups.
class GroupSearch {
 public:
  GroupSearch(const Graph& graph,
              int edge_type,
              const NodeGroups& sources,
              const NodeGroups& destinations,
              const ExcludedPositions& excluded)
      : edges_(graph.edge_types()[static_cast<size_t>(edge_type)]),
        nodes_(graph.node_types()[static_cast<size_t>(edges_.dst)]),
        sources_(sources),
        destinations_(destinations),
        excluded_(excluded) {}

  // Appends the edges of a group.
  void append(int64_t group, EdgeOrder order, std::vector<InducedEdge>& edges) {
    const auto g = static_cast<size_t>(group);
    insert_sources(sources_.offsets[g], sources_.offsets[g + 1]);
    find_rows(destinations_.offsets[g], destinations_.offsets[g + 1]);
    const size_t before = edges.size();
    with_ids(edges_.indices, [&](auto ids) { scan_rows(ids, group, edges); });
    if (order == EdgeOrder::kBySource) sort_by_source(std::span(edges).subspan(before), group);
  }

 private:
  void insert_sources(int64_t begin, int64_t end) {
    const auto count = static_cast<size_t>(end - begin);
    table_.start_batch(list_.size());
    list_.set_size(0);
    list_.reserve(count);
    std::copy_n(sources_.ids.data() + begin, count, list_.data());
    list_.set_size(count);
    table_.reserve(count, list_);
    if (count > 0) table_.insert(list_);
    filter_.assign(list_.ids());
  }

  void find_rows(int64_t begin, int64_t end) {
    rows_.clear();
    for (int64_t i = begin; i < end; ++i)
      require_index(destinations_.ids[static_cast<size_t>(i)], nodes_.num_nodes, "a destination");
    for_each_row(edges_, nodes_.rows, destinations_.ids, begin, end,
                 [&](int64_t, const Row& row) { rows_.push_back(row); });
  }

  template <typename Id>
  void scan_rows(std::span<const Id> ids, int64_t group, std::vector<InducedEdge>& edges) {
    constexpr size_t kAhead = 16;
    const auto g = static_cast<size_t>(group);
    const int64_t first_source = sources_.offsets[g], first = destinations_.offsets[g];
    const auto num_sources = static_cast<uint32_t>(list_.size());
    if (num_sources == 0) return;
    const IdFilter::View filter = filter_.view();
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (i + kAhead < rows_.size()) prefetch(&ids.data()[rows_[i + kAhead].begin]);
      for_each_run(rows_[i], excluded_.in(rows_[i]), [&](int64_t begin, int64_t end) {
        for (int64_t position = begin; position < end; ++position) {
          const auto source = static_cast<int64_t>(ids[static_cast<size_t>(position)]);
          if (!filter.may_have(source)) [[likely]]
            continue;
          const uint32_t found = table_.find(source, list_);
          if (found < num_sources)
            edges.push_back({first_source + found, first + static_cast<int64_t>(i), position});
        }
      });
    }
  }

  // By counts: edges with the same source stay in their order.
  void sort_by_source(std::span<InducedEdge> edges, int64_t group) {
    const int64_t first = sources_.offsets[static_cast<size_t>(group)];
    ends_.assign(list_.size() + 1, 0);
    for (const InducedEdge& edge : edges)
      ++ends_[static_cast<size_t>(edge.source - first + 1)];
    for (size_t i = 1; i < ends_.size(); ++i)
      ends_[i] += ends_[i - 1];
    unsorted_.assign(edges.begin(), edges.end());
    for (const InducedEdge& edge : unsorted_)
      edges[ends_[static_cast<size_t>(edge.source - first)]++] = edge;
  }

  const EdgeType& edges_;
  const NodeType& nodes_;  // of destinations
  const NodeGroups &sources_, &destinations_;
  const ExcludedPositions& excluded_;
  NodeList<int64_t> list_;  // the sources of a group
  HashTable<int64_t> table_;
  IdFilter filter_;
  std::vector<Row> rows_;  // of its destinations
  std::vector<size_t> ends_;
  std::vector<InducedEdge> unsorted_;
};

InducedEdges concatenate(const std::vector<std::vector<InducedEdge>>& parts) {
  int64_t count = 0;
  for (const auto& part : parts)
    count += static_cast<int64_t>(part.size());
  InducedEdges result{BufferPool::shared()->allocate_array(DType::kInt64, {2, count}),
                      BufferPool::shared()->allocate_array(DType::kInt64, {count})};
  auto* source = static_cast<int64_t*>(result.edge_index.data);
  auto* destination = source + count;
  auto* position = static_cast<int64_t*>(result.position.data);
  for (const auto& part : parts) {
    for (const InducedEdge& edge : part) {
      *source++ = edge.source;
      *destination++ = edge.destination;
      *position++ = edge.position;
    }
  }
  return result;
}

}  // namespace

InducedEdges induced_edges(const Graph& graph,
                           int edge_type,
                           const NodeGroups& sources,
                           const NodeGroups& destinations,
                           EdgeOrder order,
                           int threads,
                           std::span<const int64_t> excluded) {
  require_index(edge_type, static_cast<int64_t>(graph.edge_types().size()), "edge_type");
  require_offsets(sources, "sources");
  require_offsets(destinations, "destinations");
  const ExcludedPositions left_out(graph.edge_types()[static_cast<size_t>(edge_type)], excluded);
  const int64_t groups = num_groups(sources);
  if (groups != num_groups(destinations))
    throw_invalid("sources have ", groups, " groups, destinations ", num_groups(destinations));
  constexpr int64_t kParts = 64;
  const int64_t grain = groups / kParts + 1;
  std::vector<std::vector<InducedEdge>> parts(static_cast<size_t>((groups + grain - 1) / grain));
  parallel_for(groups, grain, threads, [&](int64_t begin, int64_t end) {
    GroupSearch search(graph, edge_type, sources, destinations, left_out);
    for (int64_t group = begin; group < end; ++group)
      search.append(group, order, parts[static_cast<size_t>(begin / grain)]);
  });
  return concatenate(parts);
}

}  // namespace ramet
