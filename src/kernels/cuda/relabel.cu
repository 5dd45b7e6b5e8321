// Local ids, in the order in which the CPU gives them: a source that is new to the batch gets its
// position where its first pick stands in the order of picks.
//
// Every pick offers its number to its source's slot, which keeps the least; a node that the batch
// has already keeps its position, which is less than any number of a pick. So the pick whose number
// is in the slot is the first of a new node, and a running sum over these gives their positions.
// Which thread comes first makes no difference.
#include "kernels/cuda/edge_time.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

constexpr uint32_t kPick = 0x80000000u;  // a slot's value from here on is a pick
constexpr unsigned long long kNoKey = ~0ull;
constexpr uint32_t kNoPick = 0xffffffffu;  // no pick has this number: kCudaMaxEdges

// A hub is offered many picks: most see, without an atomic operation, that theirs is not the least.
__device__ void offer(uint32_t* slot, uint32_t value) {
  if (__ldcg(slot) > value) atomicMin(slot, value);
}

// Of a node, or of its key, which gets a position where it has none.
__device__ uint32_t* slot_of(const CudaNodeTable& table, int64_t node) {
  if (table.keys == nullptr) return &table.slots[node];
  const auto key = static_cast<unsigned long long>(node);
  for (uint64_t at = mix64(key) & table.mask;; at = (at + 1) & table.mask) {
    auto* cell = reinterpret_cast<unsigned long long*>(&table.keys[at]);
    unsigned long long found = __ldcg(cell);
    if (found == kNoKey) found = atomicCAS(cell, kNoKey, key);
    if (found == key || found == kNoKey) return &table.slots[at];
  }
}

// The node at `position`, or its key in the tree of `dst`, which pick e asks for; -1 where it is
// no node.
__device__ int64_t load_source(const CudaCsc& edges,
                               int64_t position,
                               const CudaTrees& trees,
                               int64_t dst,
                               const CudaNodeTable& table,
                               int64_t e) {
  int64_t node = load_source_id(edges, position);
  if (static_cast<uint64_t>(node) >= static_cast<uint64_t>(edges.num_src_nodes)) return -1;
  if (trees.keys != nullptr) node |= trees.keys[dst] >> trees.dst_bits << trees.src_bits;
  offer(slot_of(table, node), kPick + static_cast<uint32_t>(e));
  return node;
}

__global__ void load_sources(CudaLoadArgs args) {
  int64_t e = thread_number(), dst = 0;
  if (e >= args.num_picks) return;
  if (args.offset != nullptr) {
    const int64_t row = row_of(args.offset, args.first_row, e);
    dst = dst_of(args.order.dst, row);
    e = output_index(args.order, row, e);
  }
  const int64_t position = load_id(args.positions.data, args.positions.wide, e);
  const int64_t node = load_source(args.edges, position, args.trees, dst, args.table, e);
  args.sources[e] = node;
  const bool is_in_time =
      args.times.allowed == nullptr || node < 0 ||
      contains(args.times.allowed[dst], time_of(args.edges, args.times, position).value);
  if (node < 0 || !is_in_time) record_bad(args.bad, e);
}

__global__ void load_sources_of_in_edges(CudaLoadInEdgesArgs args) {
  const int64_t i = thread_number();
  if (i >= args.count) return;
  const int64_t e = args.first + i;
  const int64_t row = row_of(args.rows.offset, args.rows.first_row, e);
  const int64_t dst = dst_of(args.rows.order.dst, row);
  const int64_t node =
      load_source(args.edges, position_of(args.rows, row, e), args.trees, dst, args.table, i);
  args.sources[i] = node;
  if (node < 0) record_bad(args.bad, dst);
}

__global__ void load_asked_nodes(CudaLoadAskedArgs args) {
  const int64_t i = thread_number();
  if (i >= args.count) return;
  const int64_t e = args.first + i, node = load_id(args.nodes, args.wide, i);
  const int64_t id = node & cuda_id_mask(args.id_bits), tree = node >> args.id_bits;
  const bool is_own = id >= args.begin && id < args.end && tree >= 0 && tree < args.num_trees;
  args.sources[e] = is_own ? node : -1;
  if (is_own)
    offer(slot_of(args.table, node), kPick + static_cast<uint32_t>(e));
  else
    record_bad(args.bad, e);
}

// rank[e]: 1 for the first pick of a new node. The nodes that are there count with the first pick.
__global__ void find_first_picks(CudaNumberArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  const int64_t id = args.sources[e];
  const bool is_first =
      id >= 0 && *slot_of(args.list.table, id) == kPick + static_cast<uint32_t>(e);
  args.rank[e] = (is_first ? 1u : 0u) + (e == 0 ? static_cast<uint32_t>(*args.list.size) : 0u);
}

// A slot that is read here may hold a pick's number or already that pick's position: either way the
// result is the same.
__global__ void give_positions(CudaNumberArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  // More than a list can have stay more than that, and sums of 32 bits do not wrap.
  if (e == args.num_picks - 1) *args.list.size = args.rank[e] < kPick ? args.rank[e] : kPick;
  const int64_t id = args.sources[e];
  if (id < 0) return;
  uint32_t* slot = slot_of(args.list.table, id);
  const uint32_t value = __ldcg(slot);  // once, while others write it
  const uint32_t position = value < kPick ? value : args.rank[value - kPick] - 1;
  args.local[e] = static_cast<int32_t>(position);
  if (value != kPick + static_cast<uint32_t>(e) || position >= args.list.capacity) return;
  args.list.nodes[position] = id;
  *slot = position;
}

__global__ void insert_nodes(CudaNodeList list, int64_t first, int64_t count) {
  const int64_t i = first + thread_number();
  if (i == first) *list.size = count;
  if (i < count) atomicMin(slot_of(list.table, list.nodes[i]), static_cast<uint32_t>(i));
}

__global__ void insert_nodes_again(CudaNodeList list, int64_t most) {
  const int64_t i = thread_number();
  if (i < most && i < *list.size) *slot_of(list.table, list.nodes[i]) = static_cast<uint32_t>(i);
}

__global__ void clear_nodes(CudaNodeList list, int64_t first, int64_t count) {
  const int64_t i = first + thread_number();
  if (i < count) *slot_of(list.table, list.nodes[i]) = kNoPick;
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

void cuda_sampling::load_asked(int device, const CudaLoadAskedArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("load_asked_nodes", load_asked_nodes, args.count, stream, args);
}

void cuda_sampling::number(int device, const CudaNumberArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("find_first_picks", find_first_picks, args.num_picks, stream, args);
  running_sum(args.rank, args.num_picks, args.scan, stream);
  launch_each("give_positions", give_positions, args.num_picks, stream, args);
}

void cuda_sampling::insert(
    int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("insert_nodes", insert_nodes, count - first + 1, stream, list, first, count);
}

void cuda_sampling::insert_again(int device, const CudaNodeList& list, int64_t most, void* stream) {
  const DeviceScope scope(device);
  launch_each("insert_nodes_again", insert_nodes_again, most, stream, list, most);
}

void cuda_sampling::clear(
    int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("clear_nodes", clear_nodes, count - first, stream, list, first, count);
}

}  // namespace ramet
