// cub::DeviceScan, as a loop on the stream's thread. Sums have the type that adding two inputs has,
// as in CUB: sums of int into an array of int64_t overflow here, too.
#pragma once

#include <cstddef>
#include <utility>

#include "cuda_runtime.h"
#include "emulator/counts.h"

namespace cub {

struct DeviceScan {
  // With `temporary` nullptr says how much of it is needed.
  template <typename Input, typename Output, typename Count>
  static cudaError_t InclusiveSum(void* temporary,
                                  size_t& temporary_bytes,
                                  Input input,
                                  Output output,
                                  Count count,
                                  cudaStream_t stream = nullptr) {
    return scan(temporary, temporary_bytes, stream, [=] {
      auto sum = decltype(*input + *input){};
      for (Count i = 0; i < count; ++i) {
        sum = sum + *(input + i);
        *(output + i) = sum;
      }
    });
  }

 private:
  static constexpr size_t kTemporaryBytes = 767;  // what CUB asks for small arrays

  template <typename Loop>
  static cudaError_t scan(void* temporary, size_t& bytes, cudaStream_t stream, Loop loop) {
    if (temporary == nullptr) {
      bytes = kTemporaryBytes;
      return cudaSuccess;
    }
    if (bytes < kTemporaryBytes) return cudaErrorInvalidValue;
    ++emulator::counts().sums;
    return emulator::enqueue(stream, [temporary, loop] {
      std::memset(temporary, 0xab, kTemporaryBytes);
      loop();
    });
  }
};

}  // namespace cub
