// parallel_for: the one way to use more than one thread inside a call.
//
// A process-wide pool starts its threads on first use and never at import. The caller works, too,
// so nothing waits for an idle pool. Nested calls run on the calling thread. A forked child gets a
// new pool and never touches the parent's (OpenMP hangs there). An exception in a body stops the
// remaining chunks and is rethrown to the caller.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace ramet {

// Processors that the calling thread may use now; RAMET_NUM_THREADS, read once, lowers it.
[[nodiscard]] int hardware_threads();

// Number of processors of the machine.
[[nodiscard]] int machine_threads();

// Runs body(begin, end) over chunks of at most `grain` items that cover [0, n), on at most
// `threads` threads (0: hardware_threads()). Chunk borders do not depend on `threads`.
void parallel_for(int64_t n,
                  int64_t grain,
                  int threads,
                  FunctionRef<void(int64_t begin, int64_t end)> body);

}  // namespace ramet
