// NeighborLoader: the batches of an epoch, sampled and gathered ahead by threads and handed out in
// order. docs/semantics.md, section 6, defines which seeds form which batch.
//
// A NeighborLoader is immutable and cheap to copy; each EpochStream it starts is independent and
// has its own threads, so several may run at once. Memory: at most max_prefetch() batches wait or
// are being made, plus those the caller holds; their buffers come from the loader's pool and go
// back to it. Forks: a stream belongs to the process that made it, next() throws elsewhere; the
// loader itself works in a forked child. Failure: an Error in a thread is thrown by next() in the
// place of its batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"
#include "ramet/graph.h"
#include "ramet/placement.h"
#include "ramet/sampler.h"
#include "ramet/table.h"

namespace ramet {

inline constexpr int kNoEdgeType = -1;

// A table to gather with every batch: of a node type, at the seeds or at all its nodes; or, where
// an edge type is named, of that, at the edges of all blocks, those of the farthest hop first.
struct TableRequest {
  int node_type = 0;
  std::string name;
  bool at_seeds = false;
  int edge_type = kNoEdgeType;
  [[nodiscard]] bool is_of_edges() const { return edge_type != kNoEdgeType; }
};

// Which rows a cache in device memory holds: those with most out-edges, or those that most batches
// of a few sampled ones need.
enum class CacheBy { kDegree, kPresampling };

// Batches that are made on, and for, a CUDA device.
struct DeviceOptions {
  int index = kHost;  // of the device; kHost: host batches
  Placement topology;
  std::vector<Placement> tables;  // one per LoaderOptions::tables; empty: all kAuto
  int64_t copy_bytes = -1;        // of device memory for copies, at most; -1: half of what is free
  int64_t cache_rows = 0;         // of each table that is read in place at all nodes
  CacheBy cache_by = CacheBy::kDegree;
  int max_sms = 0;  // multiprocessors that gathering may use; 0: all
};

struct LoaderOptions {
  SampleOptions sample;
  int seed_type = 0;
  Array input_nodes;       // int32 or int64 ids of seed_type; without data: all its nodes
  int64_t batch_size = 1;  // of the global batch, over all ranks
  bool shuffle = false;
  bool drop_last = false;
  int rank = 0, world = 1;  // this process takes its contiguous slice of every batch
  // Threads that make batches, each of them one. 0: as many as keep up with the caller, decided
  // while it runs, from 1 to its rank's share of hardware_threads(), but not more than
  // kMaxAutomaticThreads. An idle core belongs to the caller's own work: threads that are not
  // needed would hold it up.
  int threads = 0;
  int prefetch = 0;  // batches ahead; 0: as many as threads, and one more where these are automatic
  std::vector<TableRequest> tables;
  bool decode = true;  // float16, bfloat16 and quantized int8 rows arrive as float32
  DeviceOptions device = {};
};

inline constexpr int kMaxAutomaticThreads = 8;  // bounds the memory of what is made ahead
inline constexpr int kMaxThreads = 4096;
inline constexpr int kMaxPrefetch = 65536;

// Seconds: of the thread that made the batch, and of the caller who waited for it in next().
struct BatchTimings {
  double sample_seconds = 0, gather_seconds = 0, wait_seconds = 0;
};

struct Batch {
  Minibatch minibatch;
  std::vector<Array> tables;  // one per LoaderOptions::tables; see also rows_of_block()
  int64_t step = 0, epoch = 0;
  int64_t global_num_seeds = 0;  // seeds of the global batch; num_seeds of it are here
  CacheStats cache;              // of the rows of tables that have one
  BatchTimings timings;
};

struct BatchSize {
  int64_t nodes = 0, edges = 0;  // over all types, and hops
  int64_t bytes = 0;             // of all arrays
  int64_t table_bytes = 0;       // of these, rows of tables
};

[[nodiscard]] BatchSize size_of(const Batch& batch);

// Of tables[table], which is of the edges of `edge_type`: the rows of one block's.
[[nodiscard]] Array rows_of_block(const Batch& batch, size_t table, int edge_type, size_t block);

// Of device batches. Arrays are used on `stream` from now on, and on no other: their buffers are
// reused once `stream` has finished the work it had when the last owner let go of them.
void set_stream(const Batch& batch, CudaStreamHandle stream);
// Arrays are used on `stream`, too.
void record_stream(const Batch& batch, CudaStreamHandle stream);

// What the batches that a loader handed out add up to, in this process.
struct LoaderSummary {
  int64_t batches = 0, nodes = 0, edges = 0;
  int64_t bytes = 0, table_bytes = 0, largest_batch_bytes = 0;
  CacheStats cache;
  double sample_seconds = 0, gather_seconds = 0;  // of all threads
  double wait_seconds = 0;                        // the caller waited in next()
  double first_wait_seconds = 0;                  // of these, for the first batch of each stream
  int64_t streams = 0;                            // that have handed out a batch
  double use_seconds = 0;  // the caller's own time, from a batch to the following next()
  int threads = 0;         // needed at the last batch
};

class EpochStream {
 public:
  virtual ~EpochStream() = default;  // stops the threads
  // The next batch; nullopt at the end of the epoch, or if `timeout` passes first (then !done()).
  [[nodiscard]] virtual std::optional<Batch> next(std::chrono::milliseconds timeout) = 0;
  [[nodiscard]] virtual bool done() const = 0;
  // Ends the stream. True once nothing is made for it any more; waits for it at most `timeout`.
  // Where ranks cooperate, they finish together what they have begun.
  [[nodiscard]] virtual bool close(std::chrono::milliseconds timeout) = 0;
};

class CudaGraph;
class DevicePool;
struct LoaderParts;

class NeighborLoader {
 public:
  NeighborLoader(std::shared_ptr<const Graph> graph, LoaderOptions options);

  // Batches in an epoch: the same number on every rank.
  [[nodiscard]] int64_t num_steps() const;
  // Starts the epoch at `first_step`.
  [[nodiscard]] std::unique_ptr<EpochStream> start(int64_t epoch, int64_t first_step = 0) const;
  // This rank's seeds of one step; kOutOfRange for a step beyond the epoch, here and below.
  [[nodiscard]] std::vector<int64_t> seeds(int64_t epoch, int64_t step) const;
  // Seeds of one step over all ranks.
  [[nodiscard]] int64_t global_num_seeds(int64_t step) const;
  // A digest of everything that decides what is sampled: graph, inputs, options; not of rank,
  // world, threads or tables.
  [[nodiscard]] uint64_t fingerprint() const;
  // Of all streams so far. Any thread may ask at any time.
  [[nodiscard]] LoaderSummary summary() const;
  // At most so many threads, and so many batches that wait or are being made, per stream.
  [[nodiscard]] int max_threads() const;
  [[nodiscard]] int max_prefetch() const;

  [[nodiscard]] const LoaderOptions& options() const;
  [[nodiscard]] const std::shared_ptr<const Graph>& graph() const;
  // Of the host: the arrays of batches, or what is on its way to the device.
  [[nodiscard]] const std::shared_ptr<BufferPool>& pool() const;
  // Of device batches; else nullptr.
  [[nodiscard]] std::shared_ptr<DevicePool> device_pool() const;
  // nullptr, too, where processors sample.
  [[nodiscard]] std::shared_ptr<const CudaGraph> cuda_graph() const;
  // One for the topology, "topology", and one for each of LoaderOptions::tables; none for host
  // batches.
  [[nodiscard]] std::vector<PlacementDecision> placement() const;
  // For CooperativeLoader.
  [[nodiscard]] const std::shared_ptr<const LoaderParts>& parts() const { return parts_; }

 private:
  std::shared_ptr<const LoaderParts> parts_;
};

}  // namespace ramet
