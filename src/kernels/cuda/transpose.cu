// A block's edges by source: counted, summed up and placed in any order, and then each source's are
// sorted by their numbers, so that the order in which threads came makes no difference. A few edges
// are sorted by a warp, by counting how many are smaller; many by a block.
#include "kernels/cuda/edge_sums.h"
#include "kernels/cuda/row_teams.cuh"
#include "kernels/cuda/scan.h"
#include "kernels/cuda/sort_block.cuh"

namespace ramet {
namespace {

__global__ void count_edges_of_sources(CudaTransposeArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  auto* const counts = reinterpret_cast<unsigned long long*>(args.by_source + 1);
  atomicAdd(counts + args.indices[e], 1ull);
}

__global__ void place_edges(CudaTransposeArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const int32_t source = args.indices[e];
  const int64_t at = args.by_source[source] + atomicAdd(args.placed + source, 1u);
  args.destinations[at] = static_cast<int32_t>(e);
}

__device__ void sort_edges_of(const CudaTransposeArgs& args,
                              int64_t begin,
                              int64_t end,
                              WarpTeam team) {
  const int32_t* const unsorted = args.destinations;
  for (int64_t i = begin + team.thread(); i < end; i += team.kSize) {
    int64_t at = begin;
    for (int64_t other = begin; other < end; ++other)
      at += unsorted[other] < unsorted[i] ? 1 : 0;
    args.edges[at] = unsorted[i];
  }
}

__device__ void sort_edges_of(const CudaTransposeArgs& args,
                              int64_t begin,
                              int64_t end,
                              BlockTeam team) {
  sort_by_block(args.destinations + begin, end - begin);
  for (int64_t i = begin + team.thread(); i < end; i += team.kSize)
    args.edges[i] = args.destinations[i];
}

__global__ void __launch_bounds__(BlockTeam::kSize) sort_edges_of_sources(CudaTransposeArgs args) {
  for_each_row(args.by_source, args.num_src, [&](int64_t source, const auto& team) {
    sort_edges_of(args, args.by_source[source], args.by_source[source + 1], team);
  });
}

__global__ void find_destinations(CudaTransposeArgs args) {
  const int64_t i = thread_number();
  if (i >= args.num_edges) return;
  args.destinations[i] =
      static_cast<int32_t>(row_between(args.indptr, 0, args.num_dst - 1, args.edges[i]));
}

}  // namespace

void transpose_cuda(int device, const CudaTransposeArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("count_edges_of_sources", count_edges_of_sources, args.num_edges, stream, args);
  running_sum(args.by_source + 1, args.num_src, args.scan, stream);
  launch_each("place_edges", place_edges, args.num_edges, stream, args);
  launch_rows("sort_edges_of_sources", sort_edges_of_sources, args.num_src, stream, args);
  launch_each("find_destinations", find_destinations, args.num_edges, stream, args);
}

}  // namespace ramet
