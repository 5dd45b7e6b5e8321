// Running part of a test in a forked child.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ramet::test {

// The thread sanitizer cannot follow threads that a forked child starts.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kNoThreadsAfterFork = true;
#else
inline constexpr bool kNoThreadsAfterFork = false;
#endif

// Whether body() is true in a forked child, which is killed if it takes longer than ten minutes.
template <typename Body>
bool holds_in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(600);
    bool holds = false;
    try {
      holds = body();
    } catch (...) {
      holds = false;
    }
    _exit(holds ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace ramet::test
