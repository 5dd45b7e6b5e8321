// Tells the sanitizers that a thread changes its stack; nothing where none is there.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace emulator {

#ifdef __SANITIZE_ADDRESS__
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

#ifdef __SANITIZE_THREAD__
inline void* current_race_context() {
  return __tsan_get_current_fiber();
}
inline void* create_race_context() {
  return __tsan_create_fiber(0);
}
inline void destroy_race_context(void* context) {
  __tsan_destroy_fiber(context);
}
inline void switch_race_context(void* context) {
  __tsan_switch_to_fiber(context, 0);
}
#else
inline void* current_race_context() {
  return nullptr;
}
inline void* create_race_context() {
  return nullptr;
}
inline void destroy_race_context(void*) {}
inline void switch_race_context(void*) {}
#endif

}  // namespace emulator
