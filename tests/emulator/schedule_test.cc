// The emulator itself: barriers, warp functions, atomics, orders, and kernels that hang.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace {

constexpr std::array kOrders{"forward", "reverse", "random:1", "random:2", "random:3"};

// Runs a kernel in the given order and waits for it.
template <typename... Parameters, typename... Arguments>
void run(const char* order,
         void (*kernel)(Parameters...),
         dim3 grid,
         dim3 block,
         Arguments... arguments) {
  setenv("RAMET_EMULATOR_ORDER", order, 1);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  REQUIRE(cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  unsetenv("RAMET_EMULATOR_ORDER");
}

__global__ void reverse_block(int* values) {
  __shared__ int copy[96];
  copy[threadIdx.x] = values[blockIdx.x * 96 + threadIdx.x];
  __syncthreads();
  values[blockIdx.x * 96 + threadIdx.x] = copy[95 - threadIdx.x];
}

__global__ void warp_functions(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned full = 0xffffffffu;
  unsigned* mine = out + threadIdx.x * 5;
  mine[0] = __shfl_sync(full, lane * 10, 5);
  mine[1] = __shfl_down_sync(full, lane, 4, 16);
  mine[2] = __ballot_sync(full, lane % 3 == 0);
  mine[3] = __match_any_sync(full, lane / 4);
  // Two halves that meet on their own.
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  mine[4] = lane < 16 ? __shfl_sync(half, lane + 100, 2) : __shfl_sync(half, lane + 200, 20);
}

__global__ void count(unsigned* total, unsigned long long* largest, unsigned* arrivals) {
  atomicAdd(total, threadIdx.x);
  atomicMax(largest, blockIdx.x * 1000ull + threadIdx.x);
  const unsigned position = atomicAdd(&arrivals[0], 1u);
  arrivals[1 + position] = blockIdx.x * blockDim.x + threadIdx.x;
}

// Wrong: reads what another thread may not have written yet.
__global__ void racy(int* values) {
  values[threadIdx.x] = int(threadIdx.x);
  values[64 + threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void miss_a_barrier() {
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  values[threadIdx.x] += values[63 - threadIdx.x];
  __syncthreads();
}

__global__ void hang_at_barrier() {
  if (threadIdx.x != 3) __syncthreads();
}

__global__ void hang_in_warp() {
  if (threadIdx.x < 31) __syncwarp();
}

__global__ void wrong_mask() {
  __ballot_sync(2u, threadIdx.x == 1);
}

// What a child that runs the kernel writes as it aborts.
std::string last_words(void (*kernel)()) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    emulator::run_grid({dim3(2), dim3(64), kernel, "the_kernel"});
    _exit(0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  std::string all;
  for (ssize_t n; (n = read(ends[0], text.data(), text.size())) > 0;)
    all.append(text, 0, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status != 0);
  return all;
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string all;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    all.push_back(char(c));
  pclose(pipe);
  return all;
}

}  // namespace

TEST_CASE("a barrier separates writes from reads in every order") {
  for (const auto* order : kOrders) {
    std::vector<int> values(96 * 5);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = int(i);
    run(order, reverse_block, dim3(5), dim3(96), values.data());
    for (size_t i = 0; i < values.size(); ++i)
      REQUIRE(values[i] == int(i / 96 * 96 + 95 - i % 96));
  }
}

TEST_CASE("warp functions give what CUDA's do") {
  for (const auto* order : kOrders) {
    std::vector<unsigned> out(64 * 5);
    run(order, warp_functions, dim3(1), dim3(64), out.data());
    for (unsigned thread = 0; thread < 64; ++thread) {
      const unsigned lane = thread % 32;
      const unsigned* mine = &out[thread * 5];
      REQUIRE(mine[0] == 50);
      REQUIRE(mine[1] == (lane % 16 < 12 ? lane + 4 : lane));
      REQUIRE(mine[2] == 0x49249249u);
      REQUIRE(mine[3] == 0xfu << lane / 4 * 4);
      REQUIRE(mine[4] == (lane < 16 ? 102 : 220));
    }
  }
}

TEST_CASE("atomics lose nothing, and the order of arrival follows the setting") {
  std::set<std::vector<unsigned>> seen;
  for (const auto* order : kOrders) {
    unsigned total = 0;
    unsigned long long largest = 0;
    std::vector<unsigned> arrivals(1 + 300);
    run(order, count, dim3(3), dim3(100), &total, &largest, arrivals.data());
    CHECK(total == 3 * 4950);
    CHECK(largest == 2099);
    CHECK(arrivals[0] == 300);
    seen.insert(arrivals);
    std::sort(arrivals.begin() + 1, arrivals.end());
    for (unsigned i = 0; i < 300; ++i)
      REQUIRE(arrivals[1 + i] == i);
  }
  CHECK(seen.size() == kOrders.size());
}

TEST_CASE("a race between threads shows in some order") {
  int right = 0;
  for (const auto* order : kOrders) {
    std::vector<int> values(128, -1);
    run(order, racy, dim3(1), dim3(64), values.data());
    bool all = true;
    for (int i = 0; i < 64; ++i)
      all = all && values[size_t(64 + i)] == 63 - i;
    right += int(all);
  }
  CHECK(right == 0);
}

TEST_CASE("a kernel that would hang ends the process with its name") {
  for (const auto kernel : {hang_at_barrier, hang_in_warp}) {
    const std::string words = last_words(kernel);
    CHECK(words.find("deadlock in kernel 'the_kernel'") != std::string::npos);
    CHECK(words.find("thread 0 waits at __sync") != std::string::npos);
  }
  CHECK(last_words(wrong_mask).find("mask does not contain itself") != std::string::npos);
}

TEST_CASE("a kernel without its barrier" * doctest::skip()) {
  run("forward", miss_a_barrier, dim3(1), dim3(64));
}

TEST_CASE("the thread sanitizer, where it is there, sees a missing barrier") {
#ifdef __SANITIZE_THREAD__
  constexpr bool kSees = true;
#else
  constexpr bool kSees = false;
#endif
  // A new process: the sanitizer sees nothing in the child of one with threads.
  const std::string command = std::filesystem::read_symlink("/proc/self/exe").string() +
                              " --no-skip --test-case='a kernel without its barrier' 2>&1";
  CHECK((output_of(command).find("data race") != std::string::npos) == kSees);
}
