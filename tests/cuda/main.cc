// Tests of the CUDA side; without a GPU they are skipped, with CUDA's reason.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "kernels/cuda_backend.h"
#include "ramet/error.h"

constexpr int kSkipped = 77;

int main(int argc, char** argv) {
  try {
    ramet::require_cuda().runtime.num_devices();
  } catch (const ramet::Error& error) {
    std::printf("skipped, there is no GPU: %s\n", error.what());
    return kSkipped;
  }
  return doctest::Context(argc, argv).run();
}
