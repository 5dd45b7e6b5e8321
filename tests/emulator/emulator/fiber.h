// A fiber: a stack that a thread can leave and come back to. The sanitizers are told.
#pragma once

#include <cstddef>

#include "emulator/context.h"

namespace emulator {

class Fiber {
 public:
  // The calling thread's own stack.
  Fiber();
  // A new stack, on which the first switch_to() calls body(argument), which must not return.
  Fiber(void (*body)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves this fiber, which is the running one, for `next`; returns when one switches back.
  void switch_to(Fiber& next);

  // From now on the thread sanitizer takes what runs for a thread of this fiber's own, whatever the
  // stack is.
  void become_thread();

 private:
  static void enter();

  Context context_;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* bottom_ = nullptr;
  size_t bytes_ = 0;
  bool owned_ = false;            // the stack
  void* fake_stack_ = nullptr;    // the address sanitizer's
  void* race_context_ = nullptr;  // the thread sanitizer's
};

}  // namespace emulator
