// Idle threads for an OpenMP runtime, which are to be counted.
#pragma once

#include <cstdint>

namespace ramet {

// GOMP_parallel() of the runtime: function(data) on each of `threads` threads.
using OpenMpParallel = void (*)(void (*function)(void*),
                                void* data,
                                unsigned threads,
                                unsigned flags);

// Gives a thread that does nothing else a team with `count` more threads, which sleep until the
// process ends. Where there are not so many threads left nothing happens.
//
// libgomp's threads look for work for some milliseconds before they sleep, and 1,000 times at most
// where it has more threads than there are processors. It knows its own threads alone. Where others
// compute beside them, these here stand for the others.
void add_idle_team(OpenMpParallel parallel, int count);

}  // namespace ramet
