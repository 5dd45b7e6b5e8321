// Pages of the host's memory, and conditions of the emulator's machine.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "ramet/array.h"

namespace ramet::test {

constexpr int64_t kPage = 4096;

// Eight pages, and an Array of uint8 over some of their bytes.
struct Pages {
  std::shared_ptr<char> data{
      static_cast<char*>(
          mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      [](char* at) { munmap(at, 8 * kPage); }};

  Array bytes(int64_t begin, int64_t end, bool writable = false) const {
    return {data.get() + begin, DType::kUInt8, {end - begin}, data, writable};
  }
  bool is_locked(int64_t at) const { return runtime().is_page_locked(data.get() + at); }
};

// A condition of the emulator's machine for a scope.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

inline bool is_emulated() {
  return std::string(require_cuda().name) == "emulated";
}

}  // namespace ramet::test
