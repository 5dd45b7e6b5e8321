// The kernel that the calling thread launched last: an error that appears later is most likely its.
#pragma once

namespace ramet {

inline const char*& last_launch() {
  thread_local const char* name = "none";
  return name;
}

}  // namespace ramet
