// NeighborLoader: the batches of an epoch, sampled and gathered ahead by threads, and returned in
// order. docs/semantics.md, section 6, defines which seeds form which batch.
//
// A NeighborLoader is immutable and cheap to copy. Each EpochStream is independent and has its own
// threads, so several may run at once.
// Memory: at most max_prefetch() batches wait or are being made, plus the caller's. Their buffers
// return to the loader's pool.
// Forks: a stream belongs to the process that made it, and next() throws elsewhere. The loader
// itself works in a forked child.
// Failure: next() throws the Error of a thread in the place of its batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/block_edges.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"
#include "ramet/graph.h"
#include "ramet/links.h"
#include "ramet/ownership.h"
#include "ramet/placement.h"
#include "ramet/progress.h"
#include "ramet/record_table.h"
#include "ramet/row_order.h"
#include "ramet/row_reader.h"
#include "ramet/sampler.h"
#include "ramet/subgraphs.h"
#include "ramet/table_request.h"

namespace ramet {

// The blocks for which threads, or the device, make BlockEdges::transposed(), for a layer's
// backward. kInner: all but the first, whose sources are mostly features that need no gradient.
enum class TransposeAhead : uint8_t { kNone, kInner, kAll };

// The seeds of an epoch of one type.
struct InputNodes {
  int node_type = 0;
  Array ids = {};  // int32 or int64; without data: all nodes of the type
  // int64, of each node, with SampleOptions::time: its time, or a row of the first and the last
  // that it allows. Without data: its row of the time table.
  Array times = {};
};

// Who gets ready the rows that a training loop looks up for the nodes of a type: the nodes of each
// batch are announced before the loop gets it, in the order of steps.
struct PrefetchHints {
  int node_type = 0;
  std::shared_ptr<RecordTable> table;
};

// Which rows a cache holds: those of the nodes with most out-edges; of those that most of a few
// sampled batches need. In memory of the host alone: the rows that were used last; those whose next
// use is nearest (look_ahead_cache.h). kAuto: kDegree with a device, else kLookAhead in front of a
// disk and of rows that are pulled, else kRecency.
enum class CacheBy : uint8_t { kAuto, kDegree, kPresampling, kRecency, kLookAhead };

inline constexpr int kMaxLookAhead = 65536;
inline constexpr int64_t kMaxCachedRows = (int64_t{1} << 31) - 1;

// The sources of rows that processors read: of host batches all, of a device's those on a disk.
struct HostOptions {
  // Of host batches one per LoaderOptions::tables, kAuto, kInPlace or kDisk; empty: all kAuto.
  std::vector<Location> tables = {};
  // Rows kept in memory, decoded, per table that is read at all nodes: the graph's tables, provided
  // tables on a disk, and pulled rows. With kRecency and kLookAhead, and for pulled rows, one
  // stream at a time has the cache; others read without it.
  int64_t cache_rows = 0;
  CacheBy cache_by = CacheBy::kAuto;
  int look_ahead = 16;  // of kLookAhead: batches that are sampled before the rows of one are chosen
};

// Batches that are made on a CUDA device, and stay there.
struct DeviceOptions {
  int index = kHost;  // of the device; kHost: host batches
  Location topology = Location::kAuto;
  std::vector<Location> tables;  // one per LoaderOptions::tables; empty: all kAuto
  // Of device memory for copies, at most; -1: half of what is free. The bounds of rows of a
  // topology in place, 8 bytes each, come on top.
  int64_t copy_bytes = -1;
  int64_t cache_rows = 0;  // of each table that is read in place at all nodes
  CacheBy cache_by = CacheBy::kAuto;
  int max_sms = kEnoughSms;  // multiprocessors that gathering may use; 0: all
  RowOrder order = RowOrder::kAuto;
};

// What ranks that cooperate say; a CooperativeLoader makes their batches.
struct CooperativeOptions {
  // Who owns which node. A rank reads the rows of its own nodes alone, and by kDegree or
  // kPresampling it caches no others.
  std::optional<Membership> membership = std::nullopt;
  // Of kPresampling, as ranks sample together: by node type, int64 [nodes], in how many of the
  // first batches each node is. Not kept.
  std::vector<Array> presampled = {};
};

struct LoaderOptions {
  SampleOptions sample;
  // Of different types. Those of a later type follow those of an earlier one, and batches are of
  // all of them.
  std::vector<InputNodes> inputs = std::vector<InputNodes>(1);
  // Where it is not empty, the items are these pairs of nodes, kind after kind, and seeds are their
  // ends. `inputs` then names the types of the ends alone.
  std::vector<InputEdges> links = {};
  LinkOrder link_order = LinkOrder::kFirstOccurrence;
  // Where there are some, the items are theirs, and host batches are the subgraphs that their nodes
  // induce, without hops, and with Expand::kOnce. `inputs` then names all types.
  std::shared_ptr<const Subgraphs> subgraphs = nullptr;
  int64_t batch_size = 1;  // of the global batch, over all ranks
  bool shuffle = false;
  bool drop_last = false;
  int rank = 0, world = 1;  // this process takes its contiguous slice of every batch
  // Threads that make batches, one batch each. 0: as many as keep up with the caller, decided at
  // run time: 1 to kMaxAutomaticThreads, no more than hardware_threads(), nor than the rank's share
  // of the machine's. Unneeded threads would slow down the caller's own work.
  int threads = 0;
  int prefetch = 0;  // batches ahead; 0: as many as threads, and one more where these are automatic
  std::vector<TableRequest> tables;
  std::vector<PrefetchHints> prefetch_hints = {};  // of one stream at a time
  bool decode = true;        // float16, bfloat16 and quantized int8 rows arrive as float32
  bool edges_ahead = false;  // with Expand::kOnce: host batches come with Batch::edges
  TransposeAhead transpose = TransposeAhead::kNone;
  HostOptions host = {};
  DeviceOptions device = {};
  CooperativeOptions cooperative = {};
};

inline constexpr int kMaxAutomaticThreads = 8;  // bounds the memory of what is made ahead
inline constexpr int kMaxThreads = 4096;
inline constexpr int kMaxPrefetch = 65536;

// Seconds of the thread that made the batch, and of the caller's wait in next(). Means and
// transposed blocks count as gathering.
struct BatchTimings {
  double sample_seconds = 0, gather_seconds = 0, wait_seconds = 0;
  double read_seconds = 0;       // waited for rows of a disk, beside gathering
  double core_wait_seconds = 0;  // of sampling and gathering: others ran on the cores
};

// merged_edge_index() and merged_edge_ids() of an edge type.
struct MergedEdges {
  Array edge_index, edge_ids;
};

// The means of a fused table over the edges of one type in the first block, by the block's weights
// if it has any: a row for each destination. The values are float32, or have the dtype of gathered
// rows.
struct TableMeans {
  size_t table = 0;  // of LoaderOptions::tables
  int edge_type = 0;
  Array rows;
};

struct Batch {
  Minibatch minibatch;
  // int64[num_seeds], in host memory: the position of each seed among the InputNodes of its type.
  // With LoaderOptions::subgraphs the items.
  Array input_id;
  std::vector<Links> links;           // by LoaderOptions::links; input_id is of pairs then
  std::vector<int64_t> global_items;  // of the pairs of all ranks; this rank's begin at first_item
  int64_t first_item = 0;
  std::vector<Array> tables;       // one per LoaderOptions::tables; see also rows_of_block()
  std::vector<MergedEdges> edges;  // by edge type, with LoaderOptions::edges_ahead; else empty
  std::vector<TableMeans> means;   // of TableRequest::fused
  // By block, then edge type; block_edges() makes missing ones.
  std::vector<std::shared_ptr<const BlockEdges>> block_edges;
  // In the same order, of a device's batch; without data for blocks that are not transposed ahead.
  std::vector<BlockEdges::Transposed> transposed;
  int64_t step = 0, epoch = 0;
  int64_t global_num_seeds = 0;  // seeds of the global batch; num_seeds of it are here
  CacheStats cache;              // of the rows of tables that have one
  ReadCounts read;               // from disks
  BatchTimings timings;
};

// Batches that a caller chooses: batch i has the input nodes at the positions order[offsets[i]] to
// order[offsets[i + 1] - 1], and each rank takes its slice. Positions count the inputs of all
// types, one type after another. They may repeat, and batches may be empty.
struct BatchList {
  std::vector<int64_t> order;
  std::vector<int64_t> offsets;  // ascending from 0 to the length of `order`
};

// The edges of one type of a block of the host, for aggregations. Made on first use: one thread at
// a time. kOutOfRange for an unknown block or type.
[[nodiscard]] const std::shared_ptr<const BlockEdges>& block_edges(const Graph& graph,
                                                                   Batch& batch,
                                                                   size_t block,
                                                                   size_t edge_type);

struct BatchSize {
  int64_t nodes = 0, edges = 0;  // over all types, and hops
  int64_t bytes = 0;             // of all arrays
  int64_t table_bytes = 0;       // of these, rows of tables
};

[[nodiscard]] BatchSize size_of(const Batch& batch);

// The rows of one block in tables[table], a table of `edge_type`.
[[nodiscard]] Array rows_of_block(const Batch& batch, size_t table, int edge_type, size_t block);

// For device batches: from now on only `stream` uses the arrays. Their buffers are reused once
// `stream` has finished the work that it had when the last owner released them.
void set_stream(const Batch& batch, CudaStreamHandle stream);
// For device batches: `stream` uses the arrays, too.
void record_stream(const Batch& batch, CudaStreamHandle stream);

// Sums over the batches that a loader's streams returned in this process.
struct LoaderSummary {
  int64_t batches = 0, nodes = 0, edges = 0;
  int64_t bytes = 0, table_bytes = 0, largest_batch_bytes = 0;
  CacheStats cache;
  ReadCounts read;
  double sample_seconds = 0, gather_seconds = 0, read_seconds = 0;  // of all threads
  double wait_seconds = 0;                                          // the caller waited in next()
  double first_wait_seconds = 0;  // of these, for the first batch of each stream
  int64_t streams = 0;            // that have handed out a batch
  double use_seconds = 0;         // the caller's own time, from a batch to the following next()
  // Seconds of sampling and gathering, and of the caller, in which their threads waited for a core.
  double core_wait_seconds = 0, use_core_wait_seconds = 0;
  int threads = 0;  // needed at the last batch
  int cores = 1;    // that this process may use
};

class EpochStream {
 public:
  virtual ~EpochStream() = default;  // stops the threads
  // The next batch; nullopt at the end of the epoch, or if `timeout` passes first (then !done()).
  [[nodiscard]] virtual std::optional<Batch> next(std::chrono::milliseconds timeout) = 0;
  [[nodiscard]] virtual bool done() const = 0;
  // Ends the stream. Returns whether all its work has ended; waits at most `timeout`. Cooperating
  // ranks finish their current batch together.
  [[nodiscard]] virtual bool close(std::chrono::milliseconds timeout) = 0;
};

class CudaGraph;
class DevicePool;
class GroupThread;  // cooperative_loader.h
struct LoaderParts;

class NeighborLoader {
 public:
  // `progress`: of page-locking memory that a device reads in place.
  NeighborLoader(std::shared_ptr<const Graph> graph,
                 LoaderOptions options,
                 const Progress& progress = {});

  // Batches in an epoch: the same number on every rank.
  [[nodiscard]] int64_t num_steps() const;
  // Starts the epoch at `first_step`.
  [[nodiscard]] std::unique_ptr<EpochStream> start(int64_t epoch, int64_t first_step = 0) const;
  // The same where tables are pulled: by `thread`, in the order of steps. Tasks are submitted to it
  // in start() and next() alone, so that ranks that run the same program do so in the same order.
  [[nodiscard]] std::unique_ptr<EpochStream> start(int64_t epoch,
                                                   int64_t first_step,
                                                   std::shared_ptr<GroupThread> thread) const;
  // The same for listed batches instead of the epoch's. kOutOfRange for a position that no input
  // node has, here and below.
  [[nodiscard]] std::unique_ptr<EpochStream> start(int64_t epoch,
                                                   int64_t first_step,
                                                   BatchList batches) const;
  // The batch of the input nodes at these positions, made by the caller's thread. summary() does
  // not count it.
  [[nodiscard]] Batch make(std::span<const int64_t> positions, int64_t epoch, int64_t step) const;
  // This rank's seeds of one step, type after type; kOutOfRange for a step beyond the epoch, here
  // and below.
  [[nodiscard]] std::vector<int64_t> seeds(int64_t epoch, int64_t step) const;
  // Seeds of one step over all ranks.
  [[nodiscard]] int64_t global_num_seeds(int64_t step) const;
  // A digest of everything that affects samples: topology, splits, inputs and options, but not
  // rank, world or threads. The same on a graph and its parts.
  [[nodiscard]] uint64_t fingerprint() const;
  // A digest of the tables by which neighbors are drawn, weights and times: of at most 1,024 rows
  // of each type. 0 without such tables, and on a part, which has only some of the rows.
  [[nodiscard]] uint64_t tables_digest() const;
  // Sums over all streams so far. Any thread may call this at any time.
  [[nodiscard]] LoaderSummary summary() const;
  // The maximum number of threads, and of batches that wait or are being made, per stream.
  [[nodiscard]] int max_threads() const;
  [[nodiscard]] int max_prefetch() const;
  // The same with batches that are only sampled: for a cache that looks ahead, or while rows are
  // read from a disk.
  [[nodiscard]] int max_sampled() const;

  [[nodiscard]] const LoaderOptions& options() const;
  [[nodiscard]] const std::shared_ptr<const Graph>& graph() const;
  // The pool in host memory: for the arrays of batches, or for data on its way to the device.
  [[nodiscard]] const std::shared_ptr<BufferPool>& pool() const;
  // The pool of device batches; else nullptr.
  [[nodiscard]] std::shared_ptr<DevicePool> device_pool() const;
  // The topology for the device; nullptr if the CPU samples.
  [[nodiscard]] std::shared_ptr<const CudaGraph> cuda_graph() const;
  // Hits of the dynamic caches, in this process.
  [[nodiscard]] int64_t cache_bytes() const;
  // One decision for each of LoaderOptions::tables; with a device, one for the "topology" before
  // them.
  [[nodiscard]] std::vector<PlacementDecision> placement() const;
  // For CooperativeLoader.
  [[nodiscard]] const std::shared_ptr<const LoaderParts>& parts() const { return parts_; }

 private:
  std::shared_ptr<const LoaderParts> parts_;
};

}  // namespace ramet
