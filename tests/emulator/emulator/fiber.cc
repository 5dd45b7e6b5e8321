#include "emulator/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

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

thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() : race_context_(current_race_context()) {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom_, &bytes_);
  pthread_attr_destroy(&attributes);
}

Fiber::Fiber(void (*body)(void*), void* argument)
    : body_(body),
      argument_(argument),
      bottom_(map_stack()),
      bytes_(kStackBytes),
      owned_(true),
      race_context_(create_race_context()) {
  context_.prepare(bottom_, bytes_, &Fiber::enter);
}

Fiber::~Fiber() {
  if (!owned_) return;
  destroy_race_context(race_context_);
  munmap(bottom_, bytes_);
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
