// CooperativeLoader: the batches of a NeighborLoader, each made by several ranks together. A rank
// has only its own seeds, nodes and rows. Every rank runs the same number of exchanges in the same
// order, also a rank that owns nothing. docs/semantics.md, section 10.
//
// The NeighborLoader decides which seeds form which batch. Its rank and world are the group's,
// among the groups that work data-parallel; with links they are this rank's, whose pairs are its
// own. LoaderOptions::threads work on one batch, since batches are sampled one after the other; 0
// is one thread. If the NeighborLoader has a device, batches are made there; its CooperativeOptions
// must then have the membership. Memory, failure: as NeighborLoader. Invalid bytes from a peer are
// kCorrupt and name the rank.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "ramet/exchange.h"
#include "ramet/loader.h"
#include "ramet/ownership.h"

namespace ramet {

struct CooperativeParts;

// The work of a group's thread for one batch: all ranks sample it, or pull its rows. A task that is
// destroyed before it runs has failed.
class SampleTask {
 public:
  SampleTask(int64_t its_epoch, int64_t its_step) : epoch(its_epoch), step(its_step) {}
  virtual ~SampleTask() = default;
  SampleTask(const SampleTask&) = delete;
  SampleTask& operator=(const SampleTask&) = delete;

  // Throws an error, which the caller reports to the other ranks; fail() then sets what
  // next() throws.
  virtual void run(const Exchange& exchange) = 0;
  virtual void fail(std::exception_ptr error) = 0;

  const int64_t epoch, step;
};

// The one thread that exchanges a group's messages. The code that moves the messages provides it.
class GroupThread {
 public:
  virtual ~GroupThread() = default;
  // Runs `task` in the thread, after all tasks submitted before, of any stream.
  virtual void submit(std::unique_ptr<SampleTask> task) = 0;
  // Whether the caller is this thread, which cannot wait for itself.
  [[nodiscard]] virtual bool is_caller() const = 0;
};

class CooperativeLoader {
 public:
  CooperativeLoader(const NeighborLoader& loader, Membership membership);

  // Starts the epoch at `first_step`. The stream submits tasks to `thread` only in start() and
  // next(). Ranks that run the same program therefore exchange messages in the same order. The
  // stream's own thread fetches rows.
  [[nodiscard]] std::unique_ptr<EpochStream> start(int64_t epoch,
                                                   int64_t first_step,
                                                   std::shared_ptr<GroupThread> thread) const;

  // Makes one batch step by step, for a caller that drives all ranks from one thread. begin() and
  // receive() return the message to send now, or nullopt when finish() may take the batch, rows
  // gathered. One batch at a time; not while a stream is open.
  [[nodiscard]] std::optional<Message> begin(int64_t epoch, int64_t step);
  [[nodiscard]] std::optional<Message> receive(const Message& from_ranks);
  [[nodiscard]] Batch finish();

  [[nodiscard]] const std::shared_ptr<const Graph>& graph() const;
  // As of the NeighborLoader.
  [[nodiscard]] std::shared_ptr<const CudaGraph> cuda_graph() const;
  [[nodiscard]] std::shared_ptr<DevicePool> device_pool() const;

 private:
  std::shared_ptr<const LoaderParts> loader_;
  std::shared_ptr<CooperativeParts> parts_;
  Batch batch_;  // between begin() and finish()
};

}  // namespace ramet
