#include "emulator/context.h"

#ifdef __x86_64__

#include <cstdint>

// void switch_stack(void** save, void* next): leaves what a call keeps on the old stack, and its
// pointer in *save; then returns on the stack `next`, which was left so.
asm(R"(
  .text
  .type ramet_emulator_switch_stack, @function
ramet_emulator_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size ramet_emulator_switch_stack, . - ramet_emulator_switch_stack
)");

extern "C" void ramet_emulator_switch_stack(void** save, void* next);

namespace emulator {

void Context::prepare(void* bottom, size_t bytes, void (*entry)()) {
  constexpr int kKeptRegisters = 6;
  auto* top = reinterpret_cast<uintptr_t*>(static_cast<char*>(bottom) + bytes);
  top[-1] = 0;  // ends a debugger's backtrace, and aligns the stack as after a call
  top[-2] = reinterpret_cast<uintptr_t>(entry);
  for (int i = 0; i < kKeptRegisters; ++i)
    top[-3 - i] = 0;
  stack_pointer_ = top - 2 - kKeptRegisters;
}

void Context::switch_to(Context& next) {
  ramet_emulator_switch_stack(&stack_pointer_, next.stack_pointer_);
}

}  // namespace emulator

#endif
