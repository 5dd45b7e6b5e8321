#include "relation_builder.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ramet/error.h"
#include "rows.h"

namespace ramet {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // ids relabeled before nodes are counted again
constexpr size_t kChunk = 1024;             // ids relabeled while the next are requested
constexpr auto kMaxNodes = static_cast<size_t>(std::numeric_limits<int32_t>::max());

}  // namespace

void throw_too_many_picks(const EdgeType& edges, int64_t fanout, int64_t num_dst, int64_t most) {
  throw_invalid("a fanout of ", fanout, " for ", num_dst, " destinations of edge type '",
                edges.encoded, "' gives more than ", most, " edges");
}

void throw_too_many_nodes() {
  throw_invalid("a batch has more than ", kMaxNodes,
                " nodes of one type; use a smaller batch_size or smaller fanouts");
}

void throw_bad_source(const EdgeType& edges, int64_t position, int64_t id, int64_t num_src_nodes) {
  throw_bad_entry(edges.indices_location, position, id,
                  concat("is outside [0, ", num_src_nodes, ")"));
}

// In pieces, since one row alone may bring more nodes than a batch can have.
template <typename Id>
void relabel(NodeIndex<Id>& index, std::span<const Id> ids, int32_t* local) {
  for (size_t first = 0; first < ids.size(); first += kPiece) {
    const size_t count = std::min(kPiece, ids.size() - first);
    index.relabel(ids.subspan(first, count), local + first);
    if (index.ids().size() > kMaxNodes) throw_too_many_nodes();
  }
}

template <typename Id>
void request_and_relabel(NodeIndex<Id>& index, std::span<const Id> ids, int32_t* local) {
  const auto chunk = [&](size_t begin) {
    const size_t from = std::min(begin, ids.size());
    return ids.subspan(from, std::min(kChunk, ids.size() - from));
  };
  index.request(chunk(0));
  for (size_t begin = 0; begin < ids.size(); begin += kChunk) {
    index.request(chunk(begin + kChunk));
    relabel(index, chunk(begin), local + begin);
  }
}

template <typename Id>
RelationBuilder<Id>::RelationBuilder(const RelationTask<Id>& task, BufferPool& pool)
    : task_(task), pool_(pool) {
  relation_.indptr = pool.allocate_array(DType::kInt64, {task.num_dst() + 1});
  indptr()[0] = 0;
}

template <typename Id>
int64_t RelationBuilder<Id>::allocate() {
  int64_t* offsets = indptr();
  for (int64_t i = 0; i < task_.num_dst(); ++i) {
    if (__builtin_add_overflow(offsets[i + 1], offsets[i], &offsets[i + 1]) ||
        offsets[i + 1] > kMaxPicks) {
      throw_too_many_picks(task_.edges, task_.fanout, task_.num_dst(), kMaxPicks);
    }
  }
  const int64_t num_edges = offsets[task_.num_dst()];
  const bool narrow = task_.edges.num_edges() <= std::numeric_limits<int32_t>::max();
  relation_.position = pool_.allocate_array(narrow ? DType::kInt32 : DType::kInt64, {num_edges});
  relation_.indices = pool_.allocate_array(DType::kInt32, {num_edges});
  const bool has_trees = task_.tree_nodes != nullptr;
  task_.sources.reserve_more(
      static_cast<size_t>(has_trees ? num_edges : std::min(num_edges, task_.num_src_nodes)));
  return num_edges;
}

template <typename Id>
float* RelationBuilder<Id>::allocate_weights() {
  relation_.edge_weight = pool_.allocate_array(DType::kFloat32, relation_.indices.shape);
  return static_cast<float*>(relation_.edge_weight.data);
}

template <typename Id>
void RelationBuilder<Id>::make_tree_keys(int64_t begin, std::span<Id> ids) const {
  const auto offsets = relation_.indptr.template as<int64_t>();
  auto row = std::upper_bound(offsets.begin(), offsets.end(), begin) - offsets.begin() - 1;
  for (size_t e = 0; e < ids.size(); ++row) {
    const auto i = static_cast<size_t>(row);
    const auto tree = static_cast<Id>(task_.source_keys->key(task_.tree_nodes->trees[i], 0));
    const size_t end = std::min(ids.size(), static_cast<size_t>(offsets[i + 1] - begin));
    for (; e < end; ++e)
      ids[e] |= tree;
  }
}

template <typename Id>
void RelationBuilder<Id>::relabel(int64_t begin, std::span<const Id> keys) {
  ramet::relabel(task_.sources, keys, static_cast<int32_t*>(relation_.indices.data) + begin);
}

template <typename Id>
void RelationBuilder<Id>::request_and_relabel(int64_t begin, std::span<const Id> keys) {
  ramet::request_and_relabel(task_.sources, keys,
                             static_cast<int32_t*>(relation_.indices.data) + begin);
}

template void request_and_relabel(NodeIndex<int32_t>&, std::span<const int32_t>, int32_t*);
template void request_and_relabel(NodeIndex<int64_t>&, std::span<const int64_t>, int32_t*);
template void relabel(NodeIndex<int32_t>&, std::span<const int32_t>, int32_t*);
template void relabel(NodeIndex<int64_t>&, std::span<const int64_t>, int32_t*);
template class RelationBuilder<int32_t>;
template class RelationBuilder<int64_t>;

}  // namespace ramet
