// CoreWait: how long a thread has waited for a core while others ran, as the kernel counts it.
// Where that grows, more threads do not make a program faster.
//
// It is of the thread that made it; any thread may ask. Holds a file descriptor. Does not fail.
#pragma once

#include "base/system/posix.h"

namespace ramet {

class CoreWait {
 public:
  CoreWait();
  // Since the thread started; 0 where the kernel does not count. Takes about a microsecond.
  [[nodiscard]] double seconds() const;

 private:
  Fd file_;
};

}  // namespace ramet
