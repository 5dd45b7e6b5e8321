// What a fiber is in when it does not run: its stack pointer and the registers that a call keeps.
// ucontext does it everywhere, but calls the system at each switch, and the address sanitizer
// clears its shadow of the whole stack; so x86-64 has its own.
#pragma once

#include <cstddef>

#ifdef __x86_64__

namespace emulator {

class Context {
 public:
  // The first switch to this context calls entry(), which must not return, on the given stack.
  void prepare(void* bottom, size_t bytes, void (*entry)());
  void switch_to(Context& next);

 private:
  void* stack_pointer_ = nullptr;
};

}  // namespace emulator

#else

#include <ucontext.h>

namespace emulator {

class Context {
 public:
  void prepare(void* bottom, size_t bytes, void (*entry)()) {
    getcontext(&state_);
    state_.uc_stack.ss_sp = bottom;
    state_.uc_stack.ss_size = bytes;
    makecontext(&state_, entry, 0);
  }
  void switch_to(Context& next) { swapcontext(&state_, &next.state_); }

 private:
  ucontext_t state_{};
};

}  // namespace emulator

#endif
