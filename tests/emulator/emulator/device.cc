// Errors, devices and their properties.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <utility>

#include "emulator/block.h"
#include "emulator/errors.h"
#include "emulator/runtime_api.h"
#include "emulator/settings.h"

namespace emulator {
namespace {

constexpr int kVersion = 13000;
constexpr int kMultiprocessors = 4;
constexpr int kThreadsOfMultiprocessor = 2048;

thread_local cudaError_t last_error = cudaSuccess;
thread_local int device_of_thread = 0;
std::atomic<pid_t> first_user{0};
std::atomic<uint64_t> contexts{0};  // a bit a device

struct ErrorText {
  const char* name;
  const char* text;
};

const ErrorText& text_of(cudaError_t error) {
#define TEXT(error, text) std::pair(error, ErrorText { #error, text })
  static const std::map<cudaError_t, ErrorText> texts{
      TEXT(cudaSuccess, "no error"),
      TEXT(cudaErrorInvalidValue, "invalid argument"),
      TEXT(cudaErrorMemoryAllocation, "out of memory"),
      TEXT(cudaErrorInitializationError, "initialization error"),
      TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
      TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
      TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
      TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
      TEXT(cudaErrorNotReady, "device not ready"),
      TEXT(cudaErrorHostMemoryAlreadyRegistered,
           "part or all of the requested memory range is already mapped"),
      TEXT(cudaErrorHostMemoryNotRegistered,
           "pointer does not correspond to a registered memory region"),
      TEXT(cudaErrorNotSupported, "operation not supported"),
      TEXT(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
      TEXT(cudaErrorStreamCaptureInvalidated,
           "operation failed due to a previous error during capture"),
      TEXT(cudaErrorCapturedEvent,
           "operation not permitted on an event last recorded in a capturing stream"),
  };
#undef TEXT
  static const ErrorText unknown{"cudaErrorUnknown", "unknown error"};
  const auto found = texts.find(error);
  return found != texts.end() ? found->second : unknown;
}

bool is_device(int device) {
  return device >= 0 && device < num_devices();
}

}  // namespace

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

bool in_forked_child() {
  const pid_t user = first_user.load();
  return user != 0 && user != getpid();
}

cudaError_t check_usable() {
  pid_t unused = 0;
  first_user.compare_exchange_strong(unused, getpid());
  if (in_forked_child()) return note(cudaErrorInitializationError);
  return num_devices() > 0 ? cudaSuccess : note(cudaErrorNoDevice);
}

int current_device() {
  return device_of_thread;
}

bool has_context(int device) {
  return (contexts.load() >> device & 1) != 0;
}

}  // namespace emulator

using emulator::note;

const char* cudaGetErrorName(cudaError_t error) {
  return emulator::text_of(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return emulator::text_of(error).text;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = emulator::last_error;
  emulator::last_error = cudaSuccess;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = emulator::kVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = emulator::kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const auto error = emulator::check_usable()) return error;
  *count = emulator::num_devices();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const auto error = emulator::check_usable()) return error;
  if (!emulator::is_device(device)) return note(cudaErrorInvalidDevice);
  emulator::device_of_thread = device;
  emulator::contexts |= uint64_t{1} << device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (const auto error = emulator::check_usable()) return error;
  *device = emulator::device_of_thread;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const auto error = emulator::check_usable()) return error;
  if (!emulator::is_device(device)) return note(cudaErrorInvalidDevice);
  *properties = {.name = "Emulated on the CPU",
                 .totalGlobalMem = emulator::device_memory(),
                 .major = 9,
                 .minor = 0,
                 .multiProcessorCount = emulator::kMultiprocessors,
                 .pciBusID = device + 1,
                 .pciDeviceID = 0,
                 .pciDomainID = 0,
                 .l2CacheSize = 1 << 20};
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const auto error = emulator::check_usable()) return error;
  if (!emulator::is_device(device) || !emulator::is_device(peer))
    return note(cudaErrorInvalidDevice);
  *can = device != peer && emulator::are_peers() ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const auto error = emulator::check_usable()) return error;
  if (!emulator::is_device(device)) return note(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = emulator::kMultiprocessors;
      break;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
      *value = 0;
      break;
    case cudaDevAttrHostRegisterReadOnlySupported:
      *value = emulator::registers_read_only() && emulator::error_of_registration() == cudaSuccess;
      break;
  }
  return cudaSuccess;
}

cudaError_t emulated_occupancy(int* blocks, int threads) {
  *blocks = threads > 0 ? emulator::kThreadsOfMultiprocessor / threads : 0;
  return cudaSuccess;
}
