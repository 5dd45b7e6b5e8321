#include <span>
#include <utility>

#include "nn/edge_work.h"
#include "ramet/attention.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {

LoopedEdges with_self_loops(const BlockEdges& edges, int threads, std::span<const int64_t> own) {
  if (!own.empty() && own.size() != static_cast<size_t>(edges.num_dst()))
    throw_invalid("own has ", own.size(), " entries, expected ", edges.num_dst());
  const auto own_of = [&](int64_t d) { return own.empty() ? d : own[static_cast<size_t>(d)]; };
  const EdgeWork work = EdgeWork::by_destination(edges);
  const EdgeLists& lists = work.lists();
  const auto& pool = BufferPool::shared();
  Array indptr = pool->allocate_array(DType::kInt64, {edges.num_dst() + 1});
  auto* const offsets = writable_data<int64_t>(indptr);
  offsets[0] = 0;
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      const int64_t own_source = own_of(d);
      int64_t kept = own_source < edges.num_src() ? 1 : 0;
      for (int64_t e = lists.offsets[d]; e < lists.offsets[d + 1]; ++e)
        kept += lists.ends[e] == own_source ? 0 : 1;
      offsets[d + 1] = kept;
    }
  });
  for (int64_t d = 0; d < edges.num_dst(); ++d)
    offsets[d + 1] += offsets[d];

  const int64_t num_edges = offsets[edges.num_dst()];
  Array indices = pool->allocate_array(DType::kInt32, {num_edges});
  Array positions = pool->allocate_array(DType::kInt32, {num_edges});
  auto* const sources = writable_data<int32_t>(indices);
  auto* const edge_of = writable_data<int32_t>(positions);
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      const int64_t own_source = own_of(d);
      int64_t to = offsets[d];
      for (int64_t e = lists.offsets[d]; e < lists.offsets[d + 1] && to < offsets[d + 1]; ++e) {
        if (lists.ends[e] == own_source) continue;
        sources[to] = lists.ends[e];
        edge_of[to++] = static_cast<int32_t>(e);
      }
      if (own_source >= edges.num_src() || to == offsets[d + 1]) continue;
      sources[to] = static_cast<int32_t>(own_source);
      edge_of[to] = -1;
    }
  });
  return {BlockEdges::trusted(std::move(indptr), std::move(indices), edges.num_src()),
          std::move(positions)};
}

}  // namespace ramet
