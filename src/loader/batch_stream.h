// The stream of one epoch's batches: a pipeline, the workers that it has, and, where ranks
// cooperate, the tasks for the thread of their group.
#pragma once

#include <memory>

#include "pipeline.h"

namespace ramet {

// `group`: the thread that samples, where ranks cooperate. kInvalidArgument where the epoch has no
// such step; kIo where no thread can be started.
[[nodiscard]] std::unique_ptr<EpochStream> start_stream(
    std::shared_ptr<const LoaderParts> parts,
    int64_t epoch,
    int64_t first_step,
    MakeSource make_source,
    std::shared_ptr<GroupThread> group = nullptr);

}  // namespace ramet
