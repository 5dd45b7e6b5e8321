// The emulator's memory, and the conditions of a machine that it can pretend.
#include <doctest/doctest.h>

#include "cuda_runtime.h"
#include "emulator/errors.h"
#include "kernels/cuda_backend.h"
#include "support/setting.h"

using ramet::test::Setting;

TEST_CASE("device memory has a limit, and is not zero when it is new") {
  const Setting limit("RAMET_EMULATOR_MEMORY", "1000000");
  unsigned char* first = nullptr;
  unsigned char* second = nullptr;
  size_t before = 0;
  size_t total = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);  // a pool may have some
  REQUIRE(cudaMalloc(&first, 600000) == cudaSuccess);
  CHECK(first[0] != 0);
  CHECK(first[599999] != 0);
  CHECK(cudaMalloc(&second, 600000) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  size_t free = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == before - 600000);
  CHECK(total == 1000000);
  CHECK(cudaFree(first + 1) == cudaErrorInvalidValue);
  REQUIRE(cudaFree(first) == cudaSuccess);
  REQUIRE(cudaMalloc(&second, 600000) == cudaSuccess);
  REQUIRE(cudaFree(second) == cudaSuccess);
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("to describe a device makes no context on it, which would take of its memory") {
  const Setting devices("RAMET_EMULATOR_DEVICES", "8");
  const ramet::CudaRuntime& runtime = ramet::require_cuda().runtime;
  CHECK(runtime.describe(7).total_bytes > 0);
  CHECK(!emulator::has_context(7));
  CHECK(runtime.free_bytes(7) > 0);
  CHECK(emulator::has_context(7));
}
