// The emulator's memory, and the conditions of a machine that it can pretend.
#include <doctest/doctest.h>

#include "cuda_runtime.h"
#include "emulator/errors.h"
#include "kernels/cuda_backend.h"
#include "support/fork.h"
#include "support/mapped.h"
#include "support/setting.h"

using ramet::test::map_pages;
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

TEST_CASE("pointers say where they are") {
  void* device = nullptr;
  void* pinned = nullptr;
  int plain = 0;
  cudaPointerAttributes attributes{};
  REQUIRE(cudaMalloc(&device, 100) == cudaSuccess);
  REQUIRE(cudaHostAlloc(&pinned, 100, cudaHostAllocPortable) == cudaSuccess);
  REQUIRE(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 99) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  REQUIRE(cudaPointerGetAttributes(&attributes, pinned) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  REQUIRE(cudaPointerGetAttributes(&attributes, &plain) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  REQUIRE(cudaFree(device) == cudaSuccess);
  REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("registration: whole pages, no overlap, and it can be refused") {
  const auto mapped = map_pages(3 * 4096, PROT_READ | PROT_WRITE);
  char* const pages = mapped.get();
  void* address = nullptr;
  CHECK(cudaHostGetDevicePointer(&address, pages, 0) == cudaErrorInvalidValue);
  REQUIRE(cudaHostRegister(pages, 5000, 0) == cudaSuccess);
  CHECK(cudaHostRegister(pages + 8000, 100, 0) == cudaErrorHostMemoryAlreadyRegistered);
  REQUIRE(cudaHostRegister(pages + 8192, 100, cudaHostRegisterReadOnly) == cudaSuccess);
  REQUIRE(cudaHostGetDevicePointer(&address, pages + 4999, 0) == cudaSuccess);
  CHECK(address == pages + 4999);
  CHECK(cudaHostUnregister(pages + 1) == cudaErrorHostMemoryNotRegistered);
  REQUIRE(cudaHostUnregister(pages) == cudaSuccess);
  REQUIRE(cudaHostUnregister(pages + 8192) == cudaSuccess);
  {
    const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "1");
    CHECK(cudaHostRegister(pages, 4096, 0) == cudaErrorNotSupported);
  }
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

TEST_CASE("registration has limits: of a call, and of all") {
  const auto mapped = map_pages(4 * 4096, PROT_READ | PROT_WRITE);
  char* const pages = mapped.get();
  {
    const Setting at_once("RAMET_EMULATOR_REGISTER_AT_ONCE", "8192");
    CHECK(cudaHostRegister(pages, 8193, 0) == cudaErrorMemoryAllocation);
    REQUIRE(cudaHostRegister(pages, 8192, 0) == cudaSuccess);
    const Setting in_all("RAMET_EMULATOR_REGISTER_IN_ALL", "12288");
    CHECK(cudaHostRegister(pages + 8192, 8192, 0) == cudaErrorMemoryAllocation);
    REQUIRE(cudaHostRegister(pages + 8192, 4096, 0) == cudaSuccess);
  }
  REQUIRE(cudaHostUnregister(pages) == cudaSuccess);
  REQUIRE(cudaHostUnregister(pages + 8192) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("pages that may only be read are locked for reading alone, or not at all") {
  const auto mapped = map_pages(8192, PROT_READ);
  char* const pages = mapped.get();
  CHECK(cudaHostRegister(pages, 8192, 0) == cudaErrorInvalidValue);
  REQUIRE(cudaHostRegister(pages, 8192, cudaHostRegisterReadOnly) == cudaSuccess);
  REQUIRE(cudaHostUnregister(pages) == cudaSuccess);
  const Setting no_reading("RAMET_EMULATOR_REGISTER_READ_ONLY", "0");
  int reads = 1;
  REQUIRE(cudaDeviceGetAttribute(&reads, cudaDevAttrHostRegisterReadOnlySupported, 0) ==
          cudaSuccess);
  CHECK(reads == 0);
  CHECK(cudaHostRegister(pages, 8192, cudaHostRegisterReadOnly) == cudaErrorNotSupported);
  cudaGetLastError();
}

TEST_CASE("a machine without a device, and a process forked too late") {
  int count = -1;
  {
    const Setting none("RAMET_EMULATOR_DEVICES", "0");
    CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    CHECK(count == 0);
  }
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  CHECK(ramet::test::holds_in_child(
      [&] { return cudaGetDeviceCount(&count) == cudaErrorInitializationError; }));
  cudaGetLastError();
}
