// Local ids, in the order in which the CPU gives them: a source that is new to the batch gets its
// place where its first pick stands in the order of picks.
//
// Every pick offers its number to its source's slot, which keeps the least; a node that the batch
// has already keeps its place, which is less than any number of a pick. So the pick whose number is
// in the slot is the first of a new node, and a running sum over these gives their places. Which
// thread comes first makes no difference.
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

constexpr uint32_t kPick = 0x80000000u;   // a slot's value from here on is a pick
constexpr uint32_t kEmpty = 0xffffffffu;  // no pick has this number: kCudaMaxEdges

// A hub is offered many picks: most see, without an atomic operation, that theirs is not the least.
__device__ void offer(uint32_t* slot, uint32_t value) {
  if (__ldcg(slot) > value) atomicMin(slot, value);
}

// The source at `position`, which pick e asks for; -1 where it is no node.
__device__ int64_t load_source(const CudaCsc& edges, int64_t position, uint32_t* slots, int64_t e) {
  const int64_t id = load_id(edges.indices, edges.wide_ids, position);
  if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(edges.num_src_nodes)) return -1;
  offer(&slots[id], kPick + static_cast<uint32_t>(e));
  return id;
}

__global__ void load_sources(CudaLoadArgs args) {
  int64_t e = thread_number();
  if (e >= args.num_picks) return;
  if (args.order.dst != nullptr)
    e = place_of(args.order, row_of(args.order.picks_before, args.first_row, e), e);
  const int64_t position = load_id(args.positions.data, args.positions.wide, e);
  const int64_t id = load_source(args.edges, position, args.slots, e);
  args.sources[e] = id;
  if (id < 0) record_bad(args.bad, e);
}

__global__ void load_sources_of_in_edges(CudaLoadInEdgesArgs args) {
  const int64_t i = thread_number();
  if (i >= args.count) return;
  const int64_t e = args.first + i;
  const int64_t row = row_of(args.rows.offset, args.rows.first_row, e);
  const int64_t id = load_source(args.edges, position_of(args.rows, row, e), args.slots, i);
  args.sources[i] = id;
  if (id < 0) record_bad(args.bad, dst_of(args.rows.order.dst, row));
}

// rank[e]: 1 for the first pick of a new node. The nodes that are there count with the first pick.
__global__ void find_first_picks(CudaNumberArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  const int64_t id = args.sources[e];
  const bool is_first = id >= 0 && args.list.slots[id] == kPick + static_cast<uint32_t>(e);
  args.rank[e] = (is_first ? 1u : 0u) + (e == 0 ? static_cast<uint32_t>(*args.list.size) : 0u);
}

// A slot that is read here may hold a pick's number or already that pick's place: either way the
// result is the same.
__global__ void give_places(CudaNumberArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  // More than a list can have stay more than that, and sums of 32 bits do not wrap.
  if (e == args.num_picks - 1) *args.list.size = args.rank[e] < kPick ? args.rank[e] : kPick;
  const int64_t id = args.sources[e];
  if (id < 0) return;
  const uint32_t value = __ldcg(&args.list.slots[id]);  // once, while others write it
  const uint32_t place = value < kPick ? value : args.rank[value - kPick] - 1;
  args.local[e] = static_cast<int32_t>(place);
  if (value != kPick + static_cast<uint32_t>(e) || place >= args.list.capacity) return;
  args.list.nodes[place] = id;
  args.list.slots[id] = place;
}

__global__ void insert_nodes(CudaNodeList list, int64_t count) {
  const int64_t i = thread_number();
  if (i == 0) *list.size = count;
  if (i < count) atomicMin(&list.slots[list.nodes[i]], static_cast<uint32_t>(i));
}

__global__ void clear_nodes(CudaNodeList list, int64_t count) {
  const int64_t i = thread_number();
  if (i < count) list.slots[list.nodes[i]] = kEmpty;
}

}  // namespace

void cuda_sampling::load(int device, const CudaLoadArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("load_sources", load_sources, args.num_picks, stream, args);
}

void cuda_sampling::load_in_edges(int device, const CudaLoadInEdgesArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("load_sources_of_in_edges", load_sources_of_in_edges, args.count, stream, args);
}

void cuda_sampling::number(int device, const CudaNumberArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("find_first_picks", find_first_picks, args.num_picks, stream, args);
  running_sum(args.rank, args.num_picks, args.scan, stream);
  launch_each("give_places", give_places, args.num_picks, stream, args);
}

void cuda_sampling::insert(int device, const CudaNodeList& list, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("insert_nodes", insert_nodes, count + 1, stream, list, count);
}

void cuda_sampling::clear(int device, const CudaNodeList& list, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("clear_nodes", clear_nodes, count, stream, list, count);
}

}  // namespace ramet
