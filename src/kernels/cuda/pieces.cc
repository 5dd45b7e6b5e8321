// Virtual memory management of CUDA's driver. Its functions are asked for at run time, by name, so
// that the library links no driver and loads where there is none.
#include "kernels/cuda/pieces.h"

#include <cuda.h>

#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr unsigned kSince = 10020;  // the version of CUDA whose signatures these are

template <typename... Parameters>
using DriverCall = CUresult (*)(Parameters...);

// nullptr where the driver does not have it.
void* find_call(const char* name) {
  void* call = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &call, kSince, cudaEnableDefault, &found),
             "asking the driver for a function");
  return found == cudaDriverEntryPointSuccess ? call : nullptr;
}

template <typename Call>
void find(Call& call, const char* name) {
  call = reinterpret_cast<Call>(find_call(name));
  if (call == nullptr)
    throw_error(ErrorCode::kDevice, "the driver has no ", name,
                ": tables on devices need virtual memory management (CUDA 10.2)");
}

struct Driver {
  DriverCall<CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long>
      create;
  DriverCall<CUmemGenericAllocationHandle> release;
  DriverCall<void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long>
      export_piece;
  DriverCall<CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType> import_piece;
  DriverCall<CUmemAllocationProp*, CUmemGenericAllocationHandle> properties;
  DriverCall<size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags> granularity;
  DriverCall<CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long> reserve;
  DriverCall<CUdeviceptr, size_t> unreserve;
  DriverCall<CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long> map;
  DriverCall<CUdeviceptr, size_t> unmap;
  DriverCall<CUdeviceptr, size_t, const CUmemAccessDesc*, size_t> set_access;

  Driver() {
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(export_piece, "cuMemExportToShareableHandle");
    find(import_piece, "cuMemImportFromShareableHandle");
    find(properties, "cuMemGetAllocationPropertiesFromHandle");
    find(granularity, "cuMemGetAllocationGranularity");
    find(reserve, "cuMemAddressReserve");
    find(unreserve, "cuMemAddressFree");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(set_access, "cuMemSetAccess");
  }
};

// Where the device is current, and its context is there.
const Driver& driver() {
  check_cuda(cudaFree(nullptr), "making a context");
  static const Driver calls;
  return calls;
}

// The driver's errors have the runtime's numbers.
void check(CUresult result, const char* call, int64_t bytes = -1) {
  check_cuda(static_cast<cudaError_t>(result), call, bytes);
}

CUmemAllocationProp properties_on(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr address_of(void* data) {
  return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(data));
}

int64_t unit(int device) {
  const DeviceScope scope(device);
  const CUmemAllocationProp properties = properties_on(device);
  size_t bytes = 0;
  check(driver().granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "asking for the unit of device memory");
  return static_cast<int64_t>(bytes);
}

bool can_access(int device, int other) {
  if (device == other) return true;
  const DeviceScope scope(device);
  int can = 0;
  check_cuda(cudaDeviceCanAccessPeer(&can, device, other),
             "asking whether devices read each other's memory");
  return can != 0;
}

CudaPieceHandle create(int device, int64_t bytes) {
  const DeviceScope scope(device);
  const CUmemAllocationProp properties = properties_on(device);
  CUmemGenericAllocationHandle piece = 0;
  check(driver().create(&piece, static_cast<size_t>(bytes), &properties, 0),
        "allocating a piece of device memory", bytes);
  return piece;
}

CudaPieceHandle open(int device, int fd) {
  const DeviceScope scope(device);
  CUmemGenericAllocationHandle piece = 0;
  check(driver().import_piece(&piece, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "opening another process's piece of device memory");
  return piece;
}

int device_of(int device, CudaPieceHandle piece) {
  const DeviceScope scope(device);
  CUmemAllocationProp properties{};
  check(driver().properties(&properties, piece), "asking where a piece lies");
  return properties.location.id;
}

int descriptor(int device, CudaPieceHandle piece) {
  const DeviceScope scope(device);
  int fd = -1;
  check(driver().export_piece(&fd, piece, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "asking for the descriptor of a piece of device memory");
  return fd;
}

// Of calls that free: the driver's errors stay with the driver.
template <typename Call>
void give_back(int device, Call call) {
  release_on(device, [&] {
    static_cast<void>(call(driver()));
    return cudaSuccess;
  });
}

void release(int device, CudaPieceHandle piece) {
  give_back(device, [&](const Driver& calls) { return calls.release(piece); });
}

void* reserve(int device, int64_t bytes) {
  const DeviceScope scope(device);
  CUdeviceptr range = 0;
  check(driver().reserve(&range, static_cast<size_t>(bytes), 0, 0, 0), "reserving device addresses",
        bytes);
  return reinterpret_cast<void*>(static_cast<uintptr_t>(range));
}

void unreserve(int device, void* range, int64_t bytes) {
  give_back(device, [&](const Driver& calls) {
    return calls.unreserve(address_of(range), static_cast<size_t>(bytes));
  });
}

void unmap(int device, void* at, int64_t bytes) {
  give_back(device, [&](const Driver& calls) {
    return calls.unmap(address_of(at), static_cast<size_t>(bytes));
  });
}

void map(int device, void* at, int64_t bytes, CudaPieceHandle piece) {
  const DeviceScope scope(device);
  const auto size = static_cast<size_t>(bytes);
  check(driver().map(address_of(at), size, 0, piece, 0), "mapping a piece of device memory", bytes);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult result = driver().set_access(address_of(at), size, &access, 1);
  if (result == CUDA_SUCCESS) return;
  unmap(device, at, bytes);
  check(result, "making a piece of device memory accessible", bytes);
}

}  // namespace

const CudaPieces kCudaPieces{
    .unit = unit,
    .can_access = can_access,
    .create = create,
    .open = open,
    .device_of = device_of,
    .descriptor = descriptor,
    .release = release,
    .reserve = reserve,
    .unreserve = unreserve,
    .map = map,
    .unmap = unmap,
};

}  // namespace ramet
