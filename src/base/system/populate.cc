#include "base/system/populate.h"

#include <unistd.h>

#include <cerrno>

#include "base/parallel.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// About a millisecond of a call for pages that are in memory.
constexpr int64_t kAtOnce = int64_t{16} << 20;

// MADV_POPULATE_READ and MADV_POPULATE_WRITE, which older headers lack.
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;

void touch(const char* begin, int64_t bytes) {
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  for (int64_t at = 0; at < bytes; at += page)
    static_cast<void>(*static_cast<const volatile char*>(begin + at));
}

void populate_some(char* begin, int64_t bytes, const PopulateOptions& options) {
  const int advice = options.writable ? kPopulateWrite : kPopulateRead;
  while (options.advise(begin, static_cast<size_t>(bytes), advice) != 0) {
    switch (const int error = errno) {
      case EINTR:
      case EAGAIN:
        continue;
      case EFAULT:
      case EHWPOISON:
        throw Error(ErrorCode::kIo,
                    concat("cannot read pages of ", bytes,
                           " mapped bytes: their file was cut short, or its disk fails"),
                    error);
      case EINVAL:
        return touch(begin, bytes);
      default:  // whoever locks the pages says what is wrong with them
        return;
    }
  }
}

}  // namespace

void populate(const void* begin, int64_t bytes, const PopulateOptions& options) {
  auto* const first = static_cast<char*>(const_cast<void*>(begin));
  parallel_for(bytes, kAtOnce, options.threads,
               [&](int64_t from, int64_t to) { populate_some(first + from, to - from, options); });
}

}  // namespace ramet
