#include "base/system/core_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace ramet {

CoreWait::CoreWait() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

// The file has nanoseconds on a core, nanoseconds in wait for one, and how often it got one.
double CoreWait::seconds() const {
  char text[96];
  const ssize_t length = file_ ? pread(file_.get(), text, sizeof text - 1, 0) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  char* second = text;
  static_cast<void>(std::strtoull(text, &second, 10));
  return static_cast<double>(std::strtoull(second, nullptr, 10)) * 1e-9;
}

}  // namespace ramet
