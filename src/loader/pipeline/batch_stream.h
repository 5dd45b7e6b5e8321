// The stream of the batches of a plan: a pipeline, the workers that it has, and the tasks for the
// thread of a group, where ranks sample together or pull rows from each other.
#pragma once

#include <memory>

#include "pipeline.h"

namespace ramet {

// `group`: the thread that does `group_work`. kInvalidArgument where the plan has no
// such step; kIo where no thread can be started.
[[nodiscard]] std::unique_ptr<EpochStream> start_stream(
    std::shared_ptr<const LoaderParts> parts,
    Steps steps,
    MakeSource make_source,
    std::shared_ptr<GroupThread> group = nullptr,
    GroupWork group_work = GroupWork::kNone);

}  // namespace ramet
