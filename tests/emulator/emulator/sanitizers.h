// Tells the sanitizers what the scheduler does, which is compiled without them
// (tests/emulator/CMakeLists.txt). Nothing where none is there.
#pragma once

#include <cstddef>

#ifdef EMULATOR_SANITIZER_address
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATOR_SANITIZER_thread
#include <sanitizer/tsan_interface.h>
#endif

namespace emulator {

#ifdef EMULATOR_SANITIZER_address
inline void leaving_stack(void** fake_stack, const void* bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
inline void arrived_on_stack(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}
#else
inline void leaving_stack(void**, const void*, size_t) {}
inline void arrived_on_stack(void*) {}
#endif

#ifdef EMULATOR_SANITIZER_thread
inline void* current_race_context() {
  return __tsan_get_current_fiber();
}
inline void* create_race_context() {
  return __tsan_create_fiber(0);
}
// Orders nothing: what two fibers do is a race, unless release_to() and acquire_from() order it.
inline void switch_race_context(void* context) {
  __tsan_switch_to_fiber(context, __tsan_switch_to_fiber_no_sync);
}
inline void release_to(void* position) {
  __tsan_release(position);
}
inline void acquire_from(void* position) {
  __tsan_acquire(position);
}
#else
inline void* current_race_context() {
  return nullptr;
}
inline void* create_race_context() {
  return nullptr;
}
inline void switch_race_context(void*) {}
inline void release_to(void*) {}
inline void acquire_from(void*) {}
#endif

}  // namespace emulator
