#include "emulator/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
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
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom_;
  context_.uc_stack.ss_size = bytes_;
  const auto self = reinterpret_cast<uintptr_t>(this);  // makecontext passes int only
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, unsigned(self >> 32),
              unsigned(self));
}

Fiber::~Fiber() {
  if (!owned_) return;
  destroy_race_context(race_context_);
  munmap(bottom_, bytes_);
}

void Fiber::enter(unsigned high, unsigned low) {
  arrived_on_stack(nullptr);
  auto* self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
  self->body_(self->argument_);
  std::abort();  // a body does not return
}

void Fiber::switch_to(Fiber& next) {
  leaving_stack(&fake_stack_, next.bottom_, next.bytes_);
  switch_race_context(next.race_context_);
  swapcontext(&context_, &next.context_);
  arrived_on_stack(fake_stack_);
}

}  // namespace emulator
