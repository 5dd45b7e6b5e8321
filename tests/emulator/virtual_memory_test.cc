// The emulator's memory that is made apart from its addresses: what CUDA refuses, it refuses.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>

#include "cuda.h"
#include "cuda_runtime.h"

namespace {

template <typename... Parameters>
auto call(const char* name, Parameters... parameters) {
  void* function = nullptr;
  REQUIRE(cudaGetDriverEntryPointByVersion(name, &function, 10020, cudaEnableDefault) ==
          cudaSuccess);
  REQUIRE(function != nullptr);
  return reinterpret_cast<CUresult (*)(Parameters...)>(function)(parameters...);
}

template <typename... Parameters>
void succeeds(const char* name, Parameters... parameters) {
  CAPTURE(name);
  REQUIRE(call(name, parameters...) == CUDA_SUCCESS);
}

constexpr size_t kUnit = size_t{2} << 20;

CUmemAllocationProp on_device(int device) {
  return {CU_MEM_ALLOCATION_TYPE_PINNED,
          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          {CU_MEM_LOCATION_TYPE_DEVICE, device}};
}

CUresult create(CUmemGenericAllocationHandle* piece, size_t bytes, int device = 0) {
  const CUmemAllocationProp properties = on_device(device);
  return call("cuMemCreate", piece, bytes, &properties, 0ULL);
}

}  // namespace

TEST_CASE("a piece is mapped twice, and by its descriptor, and is the same memory") {
  CUmemGenericAllocationHandle piece = 0, opened = 0;
  CUdeviceptr range = 0;
  int fd = -1;
  REQUIRE(create(&piece, kUnit) == CUDA_SUCCESS);
  succeeds("cuMemExportToShareableHandle", static_cast<void*>(&fd), piece,
           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL);
  succeeds("cuMemImportFromShareableHandle", &opened,
           reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(fd);
  CHECK(call("cuMemExportToShareableHandle", static_cast<void*>(&fd), opened,
             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL) == CUDA_ERROR_INVALID_VALUE);
  succeeds("cuMemAddressReserve", &range, 2 * kUnit, size_t{0}, CUdeviceptr{0}, 0ULL);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (const size_t i : {0, 1}) {
    succeeds("cuMemMap", range + i * kUnit, kUnit, size_t{0}, i == 0 ? piece : opened, 0ULL);
    succeeds("cuMemSetAccess", range + i * kUnit, kUnit, &access, size_t{1});
  }
  auto* const data = reinterpret_cast<char*>(range);
  CHECK(data[0] != 0);  // new memory is not zero
  std::strcpy(data, "piece");
  CHECK(std::strcmp(data + kUnit, "piece") == 0);
  // One range: a copy may go over the end of a piece, and pointers tell that it is a device's.
  CHECK(cudaMemsetAsync(data + kUnit - 8, 0, 16) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, data + kUnit) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);

  CHECK(call("cuMemAddressFree", range, 2 * kUnit) == CUDA_ERROR_INVALID_VALUE);  // still mapped
  for (const size_t i : {0, 1})
    succeeds("cuMemUnmap", range + i * kUnit, kUnit);
  succeeds("cuMemAddressFree", range, 2 * kUnit);
  succeeds("cuMemRelease", piece);
  succeeds("cuMemRelease", opened);
  CHECK(call("cuMemRelease", opened) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("sizes are multiples of the unit, and memory is limited") {
  CUmemGenericAllocationHandle piece = 0;
  CHECK(create(&piece, 4096) == CUDA_ERROR_INVALID_VALUE);
  CHECK(create(&piece, kUnit, 7) == CUDA_ERROR_INVALID_VALUE);
  CHECK(create(&piece, size_t{5} << 30) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(call("cuMemImportFromShareableHandle", &piece, reinterpret_cast<void*>(intptr_t{0}),
             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_ERROR_INVALID_VALUE);
  void* function = &piece;
  REQUIRE(cudaGetDriverEntryPointByVersion("cuNothing", &function, 10020, cudaEnableDefault) ==
          cudaSuccess);
  CHECK(function == nullptr);
}
