// Multi-hop neighbor sampling; docs/semantics.md, sections 3 to 5.
//
// Each hop runs one edge type at a time in four passes over its destinations or picks, each a
// simple loop whose random accesses are known some iterations ahead and prefetched: read the rows'
// bounds, pick positions, load source ids, relabel. The first three are pure functions of a
// destination and may run on several threads; relabeling, which fixes the order of new nodes, runs
// on one.
#include "ramet/sampler.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

#include "pick.h"
#include "ramet/error.h"
#include "ramet/parallel.h"
#include "ramet/per_process.h"
#include "ramet/random.h"
#include "relabel.h"

namespace ramet {
namespace {

constexpr int64_t kPrefetch = 16;
constexpr int64_t kGrain = 4096;
constexpr int64_t kMaxPicks = int64_t{1} << 40;
constexpr auto kMaxNodes = static_cast<size_t>(std::numeric_limits<int32_t>::max());

[[noreturn]] void corrupt_entry(const std::string& place,
                                int64_t position,
                                int64_t value,
                                const std::string& bound) {
  throw Error(ErrorCode::kCorrupt, place + ", entry " + std::to_string(position) + ": " +
                                       std::to_string(value) + " " + bound);
}

struct RowBounds {
  int64_t begin, degree;
};

// Reads one row's bounds; whatever the file holds, the result lies inside the edges.
RowBounds read_row(const EdgeType& edges, const int64_t* indptr, int64_t node) {
  const int64_t begin = indptr[node], end = indptr[node + 1];
  const int64_t num_edges = edges.num_edges();
  if (static_cast<uint64_t>(end) > static_cast<uint64_t>(num_edges)) {
    corrupt_entry(edges.indptr_place, node + 1, end,
                  "is outside [0, " + std::to_string(num_edges) + "]");
  }
  if (static_cast<uint64_t>(begin) > static_cast<uint64_t>(end)) {
    corrupt_entry(edges.indptr_place, node, begin,
                  "is outside [0, " + std::to_string(end) + "], the end of the row");
  }
  return {begin, end - begin};
}

// sources[i] = indices[position[i]], each checked against the number of source nodes.
template <typename Index>
void load_sources(const EdgeType& edges,
                  std::span<const Index> indices,
                  int64_t num_src,
                  std::span<const int64_t> position,
                  int64_t* sources) {
  for (size_t i = 0; i < position.size(); ++i) {
    if (i + kPrefetch < position.size()) {
      __builtin_prefetch(&indices[static_cast<size_t>(position[i + kPrefetch])]);
    }
    const int64_t id = indices[static_cast<size_t>(position[i])];
    if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(num_src)) {
      corrupt_entry(edges.indices_place, position[i], id,
                    "is outside [0, " + std::to_string(num_src) + ")");
    }
    sources[i] = id;
  }
}

void check_seeds(std::span<const int64_t> seeds, const NodeType& type) {
  if (seeds.size() > kMaxNodes) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::to_string(seeds.size()) + " seeds, expected at most " + std::to_string(kMaxNodes));
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (static_cast<uint64_t>(seeds[i]) >= static_cast<uint64_t>(type.num_nodes)) {
      throw Error(ErrorCode::kOutOfRange, "seeds[" + std::to_string(i) +
                                              "] = " + std::to_string(seeds[i]) +
                                              " is outside [0, " + std::to_string(type.num_nodes) +
                                              ") of node type '" + type.name + "'");
    }
  }
}

std::vector<int64_t> lengths(const std::vector<std::vector<int64_t>>& lists) {
  std::vector<int64_t> result;
  for (const auto& list : lists)
    result.push_back(static_cast<int64_t>(list.size()));
  return result;
}

}  // namespace

// Kept from batch to batch and from sampler to sampler, so that a steady run touches no fresh
// memory.
struct NeighborSampler::Scratch {
  std::vector<std::vector<int64_t>> n_id;  // by node type
  std::vector<RelabelTable> position_of;   // by node type
  std::vector<RowBounds> rows;             // by destination
  std::vector<int64_t> sources;            // by pick

  // The scratch memory that nobody uses now; never more than was in use at once.
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> idle;
  };
  static Shelf& shelf() {
    static auto* const shelves = new PerProcess<Shelf>;
    return shelves->get();
  }
  static std::unique_ptr<Scratch> take() {
    Shelf& from = shelf();
    const std::lock_guard lock(from.mutex);
    if (from.idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(from.idle.back());
    from.idle.pop_back();
    return scratch;
  }
  static void give_back(std::unique_ptr<Scratch> scratch) {
    Shelf& to = shelf();
    const std::lock_guard lock(to.mutex);
    to.idle.push_back(std::move(scratch));
  }
};

NeighborSampler::NeighborSampler(std::shared_ptr<const Graph> graph,
                                 SampleOptions options,
                                 std::shared_ptr<BufferPool> pool,
                                 int threads)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      pool_(pool ? std::move(pool) : BufferPool::shared()),
      threads_(threads),
      scratch_(Scratch::take()) {
  check(options_, *graph_);
  scratch_->n_id.resize(graph_->node_types().size());
  scratch_->position_of.resize(graph_->node_types().size());
}

NeighborSampler::~NeighborSampler() {
  Scratch::give_back(std::move(scratch_));
}

Minibatch NeighborSampler::sample(int seed_type,
                                  std::span<const int64_t> seeds,
                                  uint64_t epoch,
                                  uint64_t step,
                                  const std::atomic<bool>* stop) {
  const auto type = static_cast<size_t>(seed_type);
  for (auto& list : scratch_->n_id)
    list.clear();
  for (auto& table : scratch_->position_of)
    table.start_batch();
  // Our copy is what is checked and used: the caller's memory may change meanwhile.
  scratch_->n_id.at(type).assign(seeds.begin(), seeds.end());
  check_seeds(scratch_->n_id[type], graph_->node_types()[type]);
  for (size_t i = 0; i < seeds.size(); ++i) {
    scratch_->position_of[type].find_or_insert(scratch_->n_id[type][i], static_cast<int32_t>(i));
  }
  Minibatch batch;
  batch.seed_type = seed_type;
  batch.num_seeds = static_cast<int64_t>(seeds.size());
  const uint64_t key = step_key(options_.seed, epoch, step);
  const int num_hops = static_cast<int>(options_.fanouts.front().size());
  for (int hop = 0; hop < num_hops; ++hop) {
    if (stop != nullptr && stop->load()) return batch;
    sample_hop(batch, key, hop);
  }
  std::reverse(batch.blocks.begin(), batch.blocks.end());
  for (const auto& list : scratch_->n_id) {
    Array ids = pool_->allocate_array(DType::kInt64, {static_cast<int64_t>(list.size())});
    std::copy(list.begin(), list.end(), static_cast<int64_t*>(ids.data));
    batch.n_id.push_back(std::move(ids));
  }
  return batch;
}

void NeighborSampler::sample_hop(Minibatch& batch, uint64_t key, int hop) {
  Block block;
  block.num_dst = lengths(scratch_->n_id);
  const auto& types = graph_->edge_types();
  for (size_t t = 0; t < types.size(); ++t) {
    const uint64_t relation_key = hop_key(key, static_cast<uint64_t>(hop), types[t].name_hash);
    const int64_t fanout = options_.fanouts[t][static_cast<size_t>(hop)];
    const int64_t num_dst = block.num_dst[static_cast<size_t>(types[t].dst)];
    block.relations.push_back(sample_relation(types[t], relation_key, fanout, num_dst));
    block.relations.back().edge_type = static_cast<int>(t);
  }
  block.num_src = lengths(scratch_->n_id);
  batch.blocks.push_back(std::move(block));
}

Relation NeighborSampler::sample_relation(const EdgeType& edges,
                                          uint64_t key,
                                          int64_t fanout,
                                          int64_t num_dst) {
  const PickRule rule{fanout, options_.replace};
  const int64_t* destinations = scratch_->n_id[static_cast<size_t>(edges.dst)].data();
  Relation relation;
  relation.indptr = pool_->allocate_array(DType::kInt64, {num_dst + 1});
  auto* indptr = static_cast<int64_t*>(relation.indptr.data);

  // Pass 1: the rows' bounds, and how many picks each gives.
  auto& rows = scratch_->rows;
  rows.resize(static_cast<size_t>(num_dst));
  const int64_t* stored_indptr = edges.indptr.as<int64_t>().data();
  indptr[0] = 0;
  parallel_for(fanout == 0 ? 0 : num_dst, kGrain, threads_, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i + kPrefetch < end) __builtin_prefetch(&stored_indptr[destinations[i + kPrefetch]]);
      const RowBounds row = read_row(edges, stored_indptr, destinations[i]);
      rows[static_cast<size_t>(i)] = row;
      indptr[i + 1] = num_picks(rule, row.degree);
    }
  });
  if (fanout == 0) std::fill_n(indptr, num_dst + 1, 0);
  for (int64_t i = 0; i < num_dst; ++i) {
    if (__builtin_add_overflow(indptr[i + 1], indptr[i], &indptr[i + 1]) ||
        indptr[i + 1] > kMaxPicks) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a fanout of " + std::to_string(fanout) + " for " + std::to_string(num_dst) +
                      " destinations of edge type '" + edges.encoded + "' gives more than " +
                      std::to_string(kMaxPicks) + " edges");
    }
  }

  // Passes 2 and 3: positions of the picks, and the ids that stand there.
  const int64_t num_edges = indptr[num_dst];
  relation.position = pool_->allocate_array(DType::kInt64, {num_edges});
  auto* position = static_cast<int64_t*>(relation.position.data);
  auto& sources = scratch_->sources;
  sources.resize(static_cast<size_t>(num_edges));
  const int64_t num_src = graph_->node_types()[static_cast<size_t>(edges.src)].num_nodes;
  parallel_for(num_edges == 0 ? 0 : num_dst, kGrain, threads_, [&](int64_t begin, int64_t end) {
    Picker picker(rule);
    for (int64_t i = begin; i < end; ++i) {
      const RowBounds row = rows[static_cast<size_t>(i)];
      int64_t* out = position + indptr[i];
      picker.pick(node_key(key, destinations[i]), row.degree, out);
      for (int64_t* p = out; p != position + indptr[i + 1]; ++p)
        *p += row.begin;
    }
    const auto picks = static_cast<size_t>(indptr[end] - indptr[begin]);
    with_ids(edges.indices, [&](auto indices) {
      load_sources(edges, indices, num_src, {position + indptr[begin], picks},
                   sources.data() + indptr[begin]);
    });
  });

  // Pass 4: local ids, in order; a new node is appended to its type's list.
  relation.indices = pool_->allocate_array(DType::kInt32, {num_edges});
  auto* indices = static_cast<int32_t*>(relation.indices.data);
  auto& n_id = scratch_->n_id[static_cast<size_t>(edges.src)];
  auto& position_of = scratch_->position_of[static_cast<size_t>(edges.src)];
  for (size_t p = 0; p < sources.size(); ++p) {
    if (p + kPrefetch < sources.size()) position_of.prefetch(sources[p + kPrefetch]);
    const auto next = static_cast<int32_t>(n_id.size());
    indices[p] = position_of.find_or_insert(sources[p], next);
    if (indices[p] == next) n_id.push_back(sources[p]);
  }
  if (n_id.size() > kMaxNodes) {
    throw Error(ErrorCode::kInvalidArgument,
                "a batch has more than " + std::to_string(kMaxNodes) +
                    " nodes of one type; use a smaller batch_size or smaller fanouts");
  }
  return relation;
}

}  // namespace ramet
