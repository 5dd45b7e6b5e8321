// A fiber runs one thread of the block after the other, as long as these do not wait: most kernels
// need one fiber. A thread that waits keeps its fiber, and another one goes on with the rest.
#include "emulator/block.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/device_code.h"
#include "emulator/fiber.h"
#include "emulator/random.h"
#include "emulator/sanitizers.h"
#include "emulator/settings.h"

namespace emulator {
namespace {

constexpr uint64_t kPoison = 0xababababababababu;
constexpr uint64_t kSwitchOneIn = 4;  // of the atomics, in random order

struct Thread {
  unsigned index;          // in the block
  uint3 position;          // threadIdx
  Fiber* fiber = nullptr;  // where it waits, or runs
  const char* waits_at = nullptr;
};

using Lanes = std::array<uint64_t, kWarpSize>;

// Lanes of a warp on their way through one operation.
struct Meeting {
  unsigned mask = 0;
  std::string_view operation;
  unsigned arrived = 0;
  unsigned to_leave = 0;
  Lanes values;
};

class BlockRunner {
 public:
  void run(const Grid& grid, uint3 block, Random& random, Order order);
  void sync();
  uint64_t read_lane(unsigned mask, uint64_t value, unsigned source, const char* operation);
  unsigned lanes_equal(unsigned mask, uint64_t value, uint64_t wanted, const char* operation);
  void maybe_switch();
  [[nodiscard]] unsigned lane() const { return current_->index % kWarpSize; }
  [[noreturn]] void fail(const char* what) const;

 private:
  // For the thread sanitizer each fiber is a thread, and the scheduler is the stream's.
  class InScheduler {
   public:
    explicit InScheduler(BlockRunner& runner) : runner_(runner) { runner.native_.become_thread(); }
    ~InScheduler() { runner_.current_->fiber->become_thread(); }

   private:
    BlockRunner& runner_;
  };

  void start_threads();
  void pass_barrier();
  template <typename Read>
  auto exchange(unsigned mask, uint64_t value, const char* operation, Read read);
  Meeting& meet(unsigned mask, uint64_t value, const char* operation);
  void leave(Meeting& meeting);
  static void work(void* self);
  void leave_block(Fiber& fiber);
  Thread* take();
  void make_ready(Thread* thread) { ready_.push_back(thread); }
  void suspend(const char* waits_at);
  void wake_lanes(unsigned mask);
  Fiber& idle_fiber();
  void resume(Thread* thread);
  void print_waiting() const;
  Meeting& join(unsigned mask, const char* operation);

  const Grid* grid_ = nullptr;
  Random* random_ = nullptr;
  Order order_ = Order::kForward;
  Fiber native_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::deque<Thread*> ready_;
  Thread* current_ = nullptr;
  Thread* handed_over_ = nullptr;  // to the fiber that starts now
  size_t finished_ = 0;
  std::vector<Thread*> at_barrier_;
  size_t barriers_passed_ = 0;
  // What orders memory, for the thread sanitizer.
  char begin_ = 0;
  char end_ = 0;
  char barriers_[2] = {};
  std::vector<std::list<Meeting>> meetings_;  // of each warp
};

// One for each stream: its fibers are kept for the next block.
BlockRunner& runner() {
  thread_local BlockRunner instance;
  return instance;
}

void BlockRunner::start_threads() {
  const dim3 shape = grid_->threads;
  threads_.clear();
  for (unsigned z = 0; z < shape.z; ++z)
    for (unsigned y = 0; y < shape.y; ++y)
      for (unsigned x = 0; x < shape.x; ++x)
        threads_.push_back({unsigned(threads_.size()), {x, y, z}});
  ready_.clear();
  for (auto& thread : threads_)
    ready_.push_back(&thread);
  if (order_ == Order::kReverse) std::reverse(ready_.begin(), ready_.end());
  finished_ = 0;
  at_barrier_.clear();
  meetings_.clear();
  meetings_.resize((threads_.size() + kWarpSize - 1) / kWarpSize);
}

void BlockRunner::run(const Grid& grid, uint3 block, Random& random, Order order) {
  grid_ = &grid;
  random_ = &random;
  order_ = order;
  blockIdx = block;
  blockDim = grid.threads;
  gridDim = grid.blocks;
  start_threads();
  release_to(&begin_);
  native_.switch_to(idle_fiber());
  acquire_from(&end_);
}

Fiber& BlockRunner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::work, this));
    return *fibers_.back();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

// What every fiber does, block after block.
void BlockRunner::work(void* runner) {
  auto& self = *static_cast<BlockRunner*>(runner);
  // Fibers are made one at a time, by the thread that switches to them at once.
  Fiber& fiber = *self.fibers_.back();
  bool in_block = false;
  for (;;) {
    Thread* thread = self.take();
    if (thread != nullptr && thread->fiber == nullptr) {
      thread->fiber = &fiber;
      self.resume(thread);
      fiber.become_thread();
      if (!in_block) acquire_from(&self.begin_);
      in_block = true;
      self.grid_->body();
      self.native_.become_thread();
      ++self.finished_;
      continue;
    }
    if (thread == nullptr && self.finished_ < self.threads_.size()) self.fail("deadlock");
    if (in_block) self.leave_block(fiber);
    in_block = false;
    self.idle_.push_back(&fiber);
    fiber.switch_to(thread == nullptr ? self.native_ : *thread->fiber);
  }
}

void BlockRunner::leave_block(Fiber& fiber) {
  fiber.become_thread();
  release_to(&end_);
  native_.become_thread();
}

// The thread that runs next; nullptr: all wait or have finished.
Thread* BlockRunner::take() {
  if (handed_over_ != nullptr) return std::exchange(handed_over_, nullptr);
  if (ready_.empty()) return nullptr;
  if (order_ == Order::kRandom) std::swap(ready_.front(), ready_[random_->below(ready_.size())]);
  Thread* next = ready_.front();
  ready_.pop_front();
  return next;
}

void BlockRunner::resume(Thread* thread) {
  current_ = thread;
  thread->waits_at = nullptr;
  threadIdx = thread->position;
}

// Leaves the running thread until somebody has made it ready and it is its turn.
void BlockRunner::suspend(const char* waits_at) {
  Thread* self = current_;
  self->waits_at = waits_at;
  Thread* next = take();
  if (next == nullptr) fail("deadlock");
  if (next != self) {
    if (next->fiber == nullptr) handed_over_ = next;
    self->fiber->switch_to(next->fiber == nullptr ? idle_fiber() : *next->fiber);
  }
  resume(self);
}

void BlockRunner::sync() {
  char* barrier = &barriers_[barriers_passed_ % 2];
  release_to(barrier);
  {
    const InScheduler scope(*this);
    pass_barrier();
  }
  acquire_from(barrier);
}

void BlockRunner::pass_barrier() {
  if (at_barrier_.size() + 1 < threads_.size()) {
    at_barrier_.push_back(current_);
    suspend("__syncthreads");
    return;
  }
  ++barriers_passed_;
  if (order_ == Order::kReverse) std::reverse(at_barrier_.begin(), at_barrier_.end());
  for (Thread* thread : at_barrier_)
    make_ready(thread);
  at_barrier_.clear();
}

// The meeting that waits for this lane, or a new one.
Meeting& BlockRunner::join(unsigned mask, const char* operation) {
  auto& open = meetings_[current_->index / kWarpSize];
  for (auto& meeting : open) {
    const bool complete = meeting.arrived == meeting.mask;
    if (!complete && meeting.mask == mask && meeting.operation == operation) return meeting;
  }
  Meeting& meeting = open.emplace_back();
  meeting.mask = mask;
  meeting.operation = operation;
  meeting.values.fill(kPoison);
  return meeting;
}

void BlockRunner::wake_lanes(unsigned mask) {
  const size_t first = current_->index / kWarpSize * kWarpSize;
  for (unsigned i = 0; i < kWarpSize; ++i) {
    const unsigned chosen = order_ == Order::kReverse ? kWarpSize - 1 - i : i;
    if ((mask >> chosen & 1) && chosen != lane()) make_ready(&threads_[first + chosen]);
  }
}

// Returns what read() makes of the values that the lanes brought.
template <typename Read>
auto BlockRunner::exchange(unsigned mask, uint64_t value, const char* operation, Read read) {
  void* warp = &meetings_[current_->index / kWarpSize];
  decltype(read(Lanes{})) result;
  release_to(warp);
  {
    const InScheduler scope(*this);
    Meeting& meeting = meet(mask, value, operation);
    result = read(meeting.values);
    leave(meeting);
  }
  acquire_from(warp);
  return result;
}

Meeting& BlockRunner::meet(unsigned mask, uint64_t value, const char* operation) {
  const unsigned self = lane();
  if (!(mask >> self & 1)) fail("a lane's mask does not contain itself");
  Meeting& meeting = join(mask, operation);
  meeting.values[self] = value;
  meeting.arrived |= 1u << self;
  ++meeting.to_leave;
  if (meeting.arrived == mask)
    wake_lanes(mask);
  else
    suspend(operation);
  return meeting;
}

void BlockRunner::leave(Meeting& meeting) {
  if (--meeting.to_leave > 0) return;
  auto& open = meetings_[current_->index / kWarpSize];
  open.remove_if([&meeting](const Meeting& other) { return &other == &meeting; });
}

uint64_t BlockRunner::read_lane(unsigned mask,
                                uint64_t value,
                                unsigned source,
                                const char* operation) {
  return exchange(mask, value, operation, [source](const Lanes& lanes) { return lanes[source]; });
}

unsigned BlockRunner::lanes_equal(unsigned mask,
                                  uint64_t value,
                                  uint64_t wanted,
                                  const char* operation) {
  return exchange(mask, value, operation, [mask, wanted](const Lanes& lanes) {
    unsigned equal = 0;
    for (unsigned i = 0; i < kWarpSize; ++i)
      equal |= unsigned(lanes[i] == wanted) << i;
    return equal & mask;
  });
}

void BlockRunner::maybe_switch() {
  if (order_ != Order::kRandom || random_->below(kSwitchOneIn) != 0) return;
  const InScheduler scope(*this);
  make_ready(current_);
  suspend("an atomic");
}

void BlockRunner::print_waiting() const {
  size_t printed = 0;
  for (const auto& thread : threads_) {
    if (thread.waits_at == nullptr || ++printed > 8) continue;
    std::fprintf(stderr, "  thread %u waits at %s\n", thread.index, thread.waits_at);
  }
  std::fprintf(stderr, "  %zu of %zu threads have finished, %zu wait\n", finished_, threads_.size(),
               printed);
}

void BlockRunner::fail(const char* what) const {
  std::fprintf(stderr, "emulator: %s in kernel '%s', block (%u, %u, %u), thread (%u, %u, %u)\n",
               what, grid_->kernel, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
               threadIdx.z);
  print_waiting();
  std::abort();
}

std::vector<uint64_t> block_order(uint64_t count, Order order, Random& random) {
  std::vector<uint64_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), uint64_t{0});
  if (order == Order::kReverse) std::reverse(blocks.begin(), blocks.end());
  if (order == Order::kRandom) {
    for (uint64_t i = count; i > 1; --i)
      std::swap(blocks[i - 1], blocks[random.below(i)]);
  }
  return blocks;
}

}  // namespace

void run_grid(const Grid& grid) {
  const Schedule chosen = schedule();
  Random random(chosen.seed);
  const uint64_t width = grid.blocks.x;
  const uint64_t height = grid.blocks.y;
  for (uint64_t i : block_order(width * height * grid.blocks.z, chosen.order, random)) {
    const uint3 block{unsigned(i % width), unsigned(i / width % height),
                      unsigned(i / width / height)};
    runner().run(grid, block, random, chosen.order);
  }
}

void sync_block() {
  runner().sync();
}

uint64_t read_lane(unsigned mask, uint64_t value, unsigned source, const char* operation) {
  return runner().read_lane(mask, value, source, operation);
}

unsigned lanes_equal(unsigned mask, uint64_t value, uint64_t wanted, const char* operation) {
  return runner().lanes_equal(mask, value, wanted, operation);
}

unsigned lane() {
  return runner().lane();
}

void maybe_switch() {
  runner().maybe_switch();
}

void fail(const char* what) {
  runner().fail(what);
}

}  // namespace emulator
