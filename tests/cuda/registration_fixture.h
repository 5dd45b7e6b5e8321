// Pages of the host's memory, and the machine that they are of.
#pragma once

#include <memory>
#include <string>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "ramet/array.h"
#include "support/mapped.h"
#include "support/setting.h"

namespace ramet::test {

constexpr int64_t kPage = 4096;

// Eight pages, and an Array of uint8 over some of their bytes.
struct Pages {
  std::shared_ptr<char> data = map_pages(8 * kPage, PROT_READ | PROT_WRITE);

  Array bytes(int64_t begin, int64_t end, bool writable = false) const {
    return {data.get() + begin, DType::kUInt8, {end - begin}, data, writable};
  }
  bool is_locked(int64_t at) const { return runtime().is_page_locked(data.get() + at); }
};

inline bool is_emulated() {
  return std::string(require_cuda().name) == "emulated";
}

}  // namespace ramet::test
