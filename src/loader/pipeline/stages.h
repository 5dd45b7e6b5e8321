// Stages: the life of a batch, stage by stage. Each takes batches in the order of steps.
//
//   sample    finds nodes and edges
//   announce  passes the rows that the batch needs to caches and prefetch sinks
//   begin     starts to read rows of a disk or of another machine
//   pull      exchanges rows with other machines
//   fetch     waits for rows, and gathers the others
//   deliver   hands the batch to the caller
//
// The announcing, beginning and pulling of a batch are left out where no cache and no source of
// rows asks for them; a worker then fetches what it has sampled at once. So its scratch memory is
// warm, and a device's batch stays on one CUDA stream.
#pragma once

#include <array>
#include <cstdint>

#include "ramet/loader.h"

namespace ramet {

// What the thread of a group does in each step; workers do the rest.
enum class GroupWork : uint8_t { kNone, kSample, kPull };

enum Stage : size_t { kSample, kAnnounce, kBegin, kPull, kFetch, kDeliver, kStages };

// Who works at a stage: several workers at once, one at a time, the thread of a group, the caller.
enum class Runner : uint8_t { kNobody, kWorkers, kOneWorker, kGroup, kCaller };

struct StageState {
  Runner runner = Runner::kNobody;
  int64_t ahead = 0;  // how far, beyond the batches that wait or are made
  int64_t next = 0;   // the step to take next
};

// How many batches may be ahead of those with their rows.
struct AheadLimits {
  int64_t reading = 0;  // rows on their way
  int64_t known = 0;    // sampled, for a cache to look at

  [[nodiscard]] int64_t sampled() const { return reading + known; }
};
// Of a group the same on all ranks, which are alike in their options.
[[nodiscard]] AheadLimits limits_of(const LoaderParts& parts, GroupWork group_work);

// Of a stream that begins at step `first`. `in_order`: with caches or sources that read ahead.
[[nodiscard]] std::array<StageState, kStages> stages_of(GroupWork group_work,
                                                        bool in_order,
                                                        const AheadLimits& limits,
                                                        int64_t first);

}  // namespace ramet
