#include "emulator/settings.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace emulator {
namespace {

uint64_t number(const char* name, uint64_t absent) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : absent;
}

}  // namespace

Schedule schedule() {
  const char* text = std::getenv("RAMET_EMULATOR_ORDER");
  const std::string order = text != nullptr ? text : "forward";
  if (order == "forward" || order.empty()) return {Order::kForward, 0};
  if (order == "reverse") return {Order::kReverse, 0};
  if (order == "random") return {Order::kRandom, 1};
  if (order.starts_with("random:"))
    return {Order::kRandom, std::strtoull(order.c_str() + 7, nullptr, 10)};
  std::fprintf(
      stderr,
      "emulator: RAMET_EMULATOR_ORDER is '%s', expected forward, reverse or random[:SEED]\n",
      order.c_str());
  std::abort();
}

int num_devices() {
  return int(number("RAMET_EMULATOR_DEVICES", 1));
}

uint64_t device_memory() {
  return number("RAMET_EMULATOR_MEMORY", uint64_t{4} << 30);
}

bool are_peers() {
  return number("RAMET_EMULATOR_PEERS", 1) != 0;
}

uint64_t registered_at_once() {
  return number("RAMET_EMULATOR_REGISTER_AT_ONCE", UINT64_MAX);
}

uint64_t registered_in_all() {
  return number("RAMET_EMULATOR_REGISTER_IN_ALL", UINT64_MAX);
}

bool registers_read_only() {
  return number("RAMET_EMULATOR_REGISTER_READ_ONLY", 1) != 0;
}

uint64_t unregister_milliseconds() {
  return number("RAMET_EMULATOR_UNREGISTER_MS", 0);
}

cudaError_t error_of_registration() {
  switch (number("RAMET_EMULATOR_REFUSE_REGISTER", 0)) {
    case 0:
      return cudaSuccess;
    case 1:
      return cudaErrorNotSupported;
    default:
      return cudaErrorMemoryAllocation;
  }
}

}  // namespace emulator
