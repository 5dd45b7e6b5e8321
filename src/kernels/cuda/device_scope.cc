#include "kernels/cuda/device_scope.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "kernels/cuda/check.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::atomic<pid_t> first_user{0};
std::atomic<int> last_device{-1};

// Asks the driver, since the runtime would make a context to answer.
bool has_context(int device) {
  using GetState = int (*)(int device, unsigned* flags, int* active);
  static const auto get_state = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void* function = driver != nullptr ? dlsym(driver, "cuDevicePrimaryCtxGetState") : nullptr;
    return reinterpret_cast<GetState>(function);
  }();
  unsigned flags = 0;
  int active = 1;
  return get_state == nullptr || get_state(device, &flags, &active) != 0 || active != 0;
}

}  // namespace

bool is_forked_child() {
  const pid_t user = first_user.load(std::memory_order_relaxed);
  return user != 0 && user != getpid();
}

void check_not_forked() {
  pid_t user = 0;
  if (first_user.compare_exchange_strong(user, getpid()) || user == getpid()) return;
  throw_error(ErrorCode::kDevice, "process ", getpid(), " was forked from process ", user,
              ", which had used CUDA: CUDA does not survive a fork; start such processes by "
              "spawn, or fork before CUDA is used");
}

int any_device() {
  const int used = last_device.load(std::memory_order_relaxed);
  if (used >= 0) return used;
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? device : 0;  // DeviceScope says what is wrong
}

DeviceScope::DeviceScope(int device) : device_(device) {
  check_not_forked();
  check_cuda(cudaGetDevice(&previous_), "asking for the current device");
  if (device != previous_) {
    const std::string call = concat("changing to device ", device);
    check_cuda(cudaSetDevice(device), call.c_str());
  }
  last_device.store(device, std::memory_order_relaxed);
}

DeviceScope::~DeviceScope() {
  if (device_ != previous_ && has_context(previous_)) static_cast<void>(cudaSetDevice(previous_));
}

}  // namespace ramet
