// Memory that is made apart from its addresses, as the driver's cuMem* functions do: a piece is a
// memfd, whose descriptor another process imports; a range of addresses is reserved without
// access, and pieces are mapped into it. The device that a piece lies on is in the memfd's name.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "emulator/driver_api.h"
#include "emulator/errors.h"
#include "emulator/memory.h"
#include "emulator/runtime_api.h"
#include "emulator/settings.h"

namespace emulator {
namespace {

constexpr size_t kUnit = size_t{2} << 20;  // as GPUs have it
constexpr int kPoison = 0xab;
constexpr const char* kName = "ramet-emulated-device-";

struct Piece {
  int fd;
  size_t bytes;
  int device;
  bool is_imported = false;
};

struct Pieces {
  std::mutex mutex;
  std::map<CUmemGenericAllocationHandle, Piece> of;
  CUmemGenericAllocationHandle next = 1;

  CUmemGenericAllocationHandle add(const Piece& piece) {
    const std::lock_guard lock(mutex);
    of[next] = piece;
    return next++;
  }
  Piece find(CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex);
    const auto found = of.find(handle);
    return found == of.end() ? Piece{-1, 0, -1} : found->second;
  }
};

Pieces& pieces() {
  static Pieces instance;
  return instance;
}

CUresult usable() {
  return static_cast<CUresult>(check_usable());
}

void* at(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

bool is_device(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
         location.id < num_devices();
}

// In pages that nobody has touched poison is zeros: a large piece takes no memory.
void poison(int fd, size_t bytes) {
  constexpr size_t kPoisoned = size_t{64} << 10;
  char some[4096];
  std::memset(some, kPoison, sizeof(some));
  for (size_t i = 0; i < bytes && i < kPoisoned; i += sizeof(some))
    if (::pwrite(fd, some, sizeof(some), static_cast<off_t>(i)) < 0) std::abort();
}

CUresult create(CUmemGenericAllocationHandle* handle,
                size_t bytes,
                const CUmemAllocationProp* properties,
                unsigned long long) {
  if (const auto error = usable()) return error;
  if (bytes == 0 || bytes % kUnit != 0 || !is_device(properties->location) ||
      properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  const int device = properties->location.id;
  {
    const std::lock_guard lock(memory().mutex);
    const uint64_t used = memory().device.bytes_of(device) + memory().pieces.bytes_of(device);
    if (used + bytes > device_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const int fd = ::memfd_create((kName + std::to_string(device)).c_str(), MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  poison(fd, bytes);
  *handle = pieces().add({fd, bytes, device});
  const std::lock_guard lock(memory().mutex);
  memory().pieces.insert(*handle << 48, {bytes, device});  // apart from each other
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  if (const auto error = usable()) return error;
  const Piece piece = pieces().find(handle);
  if (piece.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  ::close(piece.fd);
  {
    const std::lock_guard lock(pieces().mutex);
    pieces().of.erase(handle);
  }
  const std::lock_guard lock(memory().mutex);
  memory().pieces.erase(handle << 48);
  return CUDA_SUCCESS;
}

CUresult export_piece(void* fd,
                      CUmemGenericAllocationHandle handle,
                      CUmemAllocationHandleType,
                      unsigned long long) {
  if (const auto error = usable()) return error;
  const Piece piece = pieces().find(handle);
  if (piece.fd < 0 || piece.is_imported) return CUDA_ERROR_INVALID_VALUE;
  const int copy = ::fcntl(piece.fd, F_DUPFD_CLOEXEC, 0);
  std::memcpy(fd, &copy, sizeof(copy));
  return copy < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult import_piece(CUmemGenericAllocationHandle* handle,
                      void* os_handle,
                      CUmemAllocationHandleType) {
  if (const auto error = usable()) return error;
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(os_handle));
  char name[128] = {};
  struct stat status{};
  if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof(name) - 1) < 0 ||
      ::fstat(fd, &status) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const char* said = std::strstr(name, kName);
  if (said == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int device = std::atoi(said + std::strlen(kName));
  if (device >= num_devices()) return CUDA_ERROR_INVALID_DEVICE;
  const auto bytes = static_cast<size_t>(status.st_size);
  *handle = pieces().add({::fcntl(fd, F_DUPFD_CLOEXEC, 0), bytes, device, true});
  return CUDA_SUCCESS;
}

CUresult properties_of(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  if (const auto error = usable()) return error;
  const Piece piece = pieces().find(handle);
  if (piece.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  *properties = {CU_MEM_ALLOCATION_TYPE_PINNED,
                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                 {CU_MEM_LOCATION_TYPE_DEVICE, piece.device}};
  return CUDA_SUCCESS;
}

CUresult granularity(size_t* bytes,
                     const CUmemAllocationProp* properties,
                     CUmemAllocationGranularity_flags) {
  if (const auto error = usable()) return error;
  if (!is_device(properties->location)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = kUnit;
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* range, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  if (const auto error = usable()) return error;
  if (bytes == 0 || bytes % kUnit != 0) return CUDA_ERROR_INVALID_VALUE;
  // Aligned by hand: what is too much is given back.
  void* all =
      ::mmap(nullptr, bytes + kUnit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const uintptr_t first = address_of(all), begin = (first + kUnit - 1) / kUnit * kUnit;
  if (begin > first) ::munmap(all, begin - first);
  if (first + kUnit > begin) ::munmap(at(begin + bytes), first + kUnit - begin);
  *range = begin;
  return CUDA_SUCCESS;
}

CUresult unreserve(CUdeviceptr range, size_t bytes) {
  if (const auto error = usable()) return error;
  const std::lock_guard lock(memory().mutex);
  if (memory().mapped.overlaps(range, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return ::munmap(at(range), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult map(CUdeviceptr address,
             size_t bytes,
             size_t offset,
             CUmemGenericAllocationHandle handle,
             unsigned long long) {
  if (const auto error = usable()) return error;
  const Piece piece = pieces().find(handle);
  if (piece.fd < 0 || offset != 0 || bytes != piece.bytes || address % kUnit != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(memory().mutex);
  if (memory().mapped.overlaps(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (::mmap(at(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, piece.fd, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memory().mapped.insert(address, {bytes, piece.device});
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, size_t bytes) {
  if (const auto error = usable()) return error;
  const std::lock_guard lock(memory().mutex);
  const Range* range = memory().mapped.find(address);
  if (range == nullptr || range->bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  memory().mapped.erase(address);
  void* free = ::mmap(at(address), bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return free == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr address,
                    size_t bytes,
                    const CUmemAccessDesc* wanted,
                    size_t count) {
  if (const auto error = usable()) return error;
  const std::lock_guard lock(memory().mutex);
  const Range* range = memory().mapped.find(address);
  if (range == nullptr || range->bytes != bytes || count != 1 || !is_device(wanted->location))
    return CUDA_ERROR_INVALID_VALUE;
  if (wanted->location.id != range->device && !are_peers()) return CUDA_ERROR_INVALID_DEVICE;
  return ::mprotect(at(address), bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE;
}

template <typename Function>
void* entry(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace
}  // namespace emulator

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol,
                                             void** function,
                                             unsigned /*version*/,
                                             unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string, void*> functions{
      {"cuMemCreate", emulator::entry(emulator::create)},
      {"cuMemRelease", emulator::entry(emulator::release)},
      {"cuMemExportToShareableHandle", emulator::entry(emulator::export_piece)},
      {"cuMemImportFromShareableHandle", emulator::entry(emulator::import_piece)},
      {"cuMemGetAllocationPropertiesFromHandle", emulator::entry(emulator::properties_of)},
      {"cuMemGetAllocationGranularity", emulator::entry(emulator::granularity)},
      {"cuMemAddressReserve", emulator::entry(emulator::reserve)},
      {"cuMemAddressFree", emulator::entry(emulator::unreserve)},
      {"cuMemMap", emulator::entry(emulator::map)},
      {"cuMemUnmap", emulator::entry(emulator::unmap)},
      {"cuMemSetAccess", emulator::entry(emulator::set_access)},
  };
  if (const auto error = emulator::check_usable()) return error;
  const auto found = functions.find(symbol);
  *function = found == functions.end() ? nullptr : found->second;
  if (result != nullptr)
    *result =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
