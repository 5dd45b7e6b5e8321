// What the environment asks of the emulator (cuda_runtime.h lists it), read at each use, so that a
// test can change it.
#pragma once

#include <cstdint>

#include "emulator/runtime_api.h"

namespace emulator {

enum class Order { kForward, kReverse, kRandom };

struct Schedule {
  Order order = Order::kForward;
  uint64_t seed = 0;
};

Schedule schedule();
int num_devices();
uint64_t device_memory();
cudaError_t error_of_registration();
uint64_t registered_at_once();
uint64_t registered_in_all();
uint64_t unregister_milliseconds();
bool registers_read_only();
// Whether devices read each other's memory.
bool are_peers();

}  // namespace emulator
