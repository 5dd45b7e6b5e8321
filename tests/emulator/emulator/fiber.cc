#include "emulator/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "emulator/sanitizers.h"

namespace emulator {
namespace {

constexpr size_t kStackBytes = 256 << 10;  // touched pages alone are backed by memory
constexpr size_t kGuardBytes = 4096;

void* map_stack() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    std::perror("emulator: no stack for a fiber");
    std::abort();
  }
  return memory;
}

// Of fibers that are no more, for the next: the thread sanitizer takes long to make a context. What
// it takes for a thread goes on in another stream, which begins after the one before has ended.
struct Kept {
  void* stack;
  void* race_context;
};
struct Pool {
  std::mutex mutex;
  std::vector<Kept> kept;
};
Pool& pool() {
  static Pool& instance = *new Pool;  // threads may end after main()
  return instance;
}

Kept take_kept() {
  {
    const std::lock_guard lock(pool().mutex);
    if (!pool().kept.empty()) {
      const Kept last = pool().kept.back();
      pool().kept.pop_back();
      return last;
    }
  }
  return {map_stack(), create_race_context()};
}

thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() : race_context_(current_race_context()) {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom_, &bytes_);
  pthread_attr_destroy(&attributes);
}

Fiber::Fiber(void (*body)(void*), void* argument)
    : body_(body), argument_(argument), bytes_(kStackBytes), owned_(true) {
  const Kept kept = take_kept();
  bottom_ = kept.stack;
  race_context_ = kept.race_context;
  context_.prepare(bottom_, bytes_, &Fiber::enter);
}

Fiber::~Fiber() {
  if (!owned_) return;
  const std::lock_guard lock(pool().mutex);
  pool().kept.push_back({bottom_, race_context_});
}

void Fiber::enter() {
  Fiber* self = entering;
  arrived_on_stack(nullptr);
  self->body_(self->argument_);
  std::abort();  // a body does not return
}

void Fiber::switch_to(Fiber& next) {
  entering = &next;
  leaving_stack(&fake_stack_, next.bottom_, next.bytes_);
  context_.switch_to(next.context_);
  arrived_on_stack(fake_stack_);
}

void Fiber::become_thread() {
  switch_race_context(race_context_);
}

}  // namespace emulator
