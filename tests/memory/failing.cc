#include "failing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own, by the names that it keeps for programs like this one.
extern "C" {
void* __libc_malloc(size_t size);                  // NOLINT
void* __libc_calloc(size_t count, size_t size);    // NOLINT
void* __libc_realloc(void* data, size_t size);     // NOLINT
void* __libc_memalign(size_t align, size_t size);  // NOLINT
}

namespace ramet::test {
namespace {

constexpr int64_t kNever = INT64_MAX;

std::atomic<int64_t> requests{0}, first_refused{kNever}, last_refused{kNever};

bool refused() {
  if (first_refused.load(std::memory_order_relaxed) == kNever) return false;
  const int64_t request = requests.fetch_add(1);
  return first_refused.load() <= request && request <= last_refused.load();
}

}  // namespace

Refusals::Refusals(int64_t first, Refuse which) {
  requests.store(0);
  last_refused.store(which == Refuse::kOne ? first : kNever);
  first_refused.store(first);
}

Refusals::~Refusals() {
  first_refused.store(kNever);
}

bool Refusals::happened() const {
  return requests.load() > first_refused.load();
}

}  // namespace ramet::test

using ramet::test::refused;

extern "C" {

void* malloc(size_t size) {
  if (!refused()) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(size_t count, size_t size) {
  if (!refused()) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* data, size_t size) {
  if (!refused()) return __libc_realloc(data, size);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(size_t align, size_t size) {
  if (!refused()) return __libc_memalign(align, size);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(size_t align, size_t size) {
  return memalign(align, size);
}

int posix_memalign(void** data, size_t align, size_t size) {
  *data = memalign(align, size);
  return *data == nullptr ? ENOMEM : 0;
}

void* mmap(void* wanted, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  if (refused()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, wanted, size, protection, flags, fd, offset));
}

int pthread_create(pthread_t* thread,
                   const pthread_attr_t* attributes,
                   void* (*run)(void*),
                   void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return refused() ? EAGAIN : create(thread, attributes, run, argument);
}

}  // extern "C"
