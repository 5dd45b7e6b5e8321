// Runs the threads of one block as fibers on the calling thread, and lets them wait for each other.
#pragma once

#include <cstdint>
#include <functional>

#include "emulator/vector_types.h"

namespace emulator {

constexpr unsigned kWarpSize = 32;

struct Grid {
  dim3 blocks;
  dim3 threads;                // of a block
  std::function<void()> body;  // of one thread
  const char* kernel;
};

// Runs all blocks, one after the other, in the order that the environment asks for.
void run_grid(const Grid& grid);

// The following are called by a kernel's threads.

// Waits for all threads of the block.
void sync_block();

// Both wait for all lanes of `mask` to come to the same `operation`, each with a value. Then the
// first returns that of the lane `source`, or one that is never right where it is not in the mask;
// the second the lanes whose value is `wanted`.
uint64_t read_lane(unsigned mask, uint64_t value, unsigned source, const char* operation);
unsigned lanes_equal(unsigned mask, uint64_t value, uint64_t wanted, const char* operation);

unsigned lane();

// A point where, in random order, another thread may go on.
void maybe_switch();

[[noreturn]] void fail(const char* what);

}  // namespace emulator
