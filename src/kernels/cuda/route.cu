// Nodes in the order of the ranks that own them: a stable counting sort. A block of threads counts
// the nodes of each owner among its own. A running sum over these counts, owner by owner and block
// by block, says where each block's nodes of an owner begin, and a thread counts those before its
// own in the block. So no atomic operation decides on an order. (The pass of a radix sort as in
// Satish, Harris, Garland: "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.)
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

__device__ uint16_t owner_in_vector(const CudaRouteArgs& args, int64_t i, int64_t id) {
  const CudaOwners& owners = args.owners;
  const uint16_t owner = owners.wide_vector
                             ? __ldg(static_cast<const uint16_t*>(owners.vector) + id)
                             : uint16_t{__ldg(static_cast<const uint8_t*>(owners.vector) + id)};
  if (owner < owners.parts) return owner;
  record_bad(args.bad, i);
  return 0;
}

__device__ uint16_t owner_of(const CudaRouteArgs& args, int64_t i) {
  const CudaOwners& owners = args.owners;
  const int64_t id = args.nodes[i] & cuda_id_mask(args.id_bits);
  if (owners.vector != nullptr) return owner_in_vector(args, i, id);
  if (owners.is_hash) {
    const uint64_t word = absorb(owners.key, static_cast<uint64_t>(id));
    return static_cast<uint16_t>(scaled_below(word, static_cast<uint64_t>(owners.parts)));
  }
  int64_t part = 0;
  for (int64_t step = (owners.num_begins + 1) / 2; step > 0; step /= 2)
    part += owners.begins[part + step - 1] <= id ? step : 0;
  return static_cast<uint16_t>(part);
}

static_assert(kThreads == kCudaRouted);

// `counts` is all zero before.
__global__ void count_owners(CudaRouteArgs args) {
  __shared__ uint16_t owners[kThreads];
  const int64_t i = thread_number(), first = i - threadIdx.x;
  if (i < args.num_nodes) owners[threadIdx.x] = owner_of(args, i);
  __syncthreads();
  if (i >= args.num_nodes) return;
  const uint16_t owner = owners[threadIdx.x];
  const int64_t left = args.num_nodes - first;
  const unsigned in_block = left < kThreads ? static_cast<unsigned>(left) : kThreads;
  unsigned before = 0, behind = 0;
  for (unsigned t = 0; t < in_block; ++t) {
    before += owners[t] == owner && t < threadIdx.x ? 1 : 0;
    behind += owners[t] == owner && t > threadIdx.x ? 1 : 0;
  }
  args.owner[i] = owner;
  args.before[i] = static_cast<uint8_t>(before);
  if (behind == 0) args.counts[int64_t{owner} * gridDim.x + blockIdx.x] = before + 1;
}

__global__ void place_by_owner(CudaRouteArgs args) {
  const int64_t i = thread_number();
  const int64_t blocks = cuda_route_counts(args.num_nodes, 1);
  if (i < args.owners.parts) args.ends[i] = args.counts[(i + 1) * blocks - 1];
  if (i >= args.num_nodes) return;
  const int64_t count = args.owner[i] * blocks + i / kCudaRouted;
  const uint32_t position = (count == 0 ? 0 : args.counts[count - 1]) + args.before[i];
  args.positions[i] = static_cast<int32_t>(position);
  if (args.wide_sorted)
    static_cast<int64_t*>(args.sorted)[position] = args.nodes[i];
  else
    static_cast<int32_t*>(args.sorted)[position] = static_cast<int32_t>(args.nodes[i]);
}

}  // namespace

void cuda_sampling::route(int device,
                          const CudaRouteArgs& args,
                          const CudaScratch& scan,
                          void* stream) {
  const DeviceScope scope(device);
  const int64_t num_counts = cuda_route_counts(args.num_nodes, args.owners.parts);
  check_cuda(cudaMemsetAsync(args.counts, 0, static_cast<size_t>(num_counts) * sizeof(uint32_t),
                             static_cast<cudaStream_t>(stream)),
             "clearing the counts of owners");
  launch_each("count_owners", count_owners, args.num_nodes, stream, args);
  running_sum(args.counts, num_counts, scan, stream);
  const int64_t threads = args.num_nodes > args.owners.parts ? args.num_nodes : args.owners.parts;
  launch_each("place_by_owner", place_by_owner, threads, stream, args);
}

}  // namespace ramet
