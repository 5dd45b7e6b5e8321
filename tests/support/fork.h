// Running part of a test in a forked child.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ramet::test {

// The thread sanitizer cannot follow threads that a forked child starts.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kNoThreadsAfterFork = true;
#else
inline constexpr bool kNoThreadsAfterFork = false;
#endif

// A forked child, which exits with 0 if body() is true there. It is killed after ten minutes.
template <typename Body>
pid_t start_child(const Body& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(600);
  bool holds = false;
  try {
    holds = body();
  } catch (...) {
    holds = false;
  }
  _exit(holds ? 0 : 1);
}

template <typename Body>
bool holds_in_child(const Body& body) {
  const pid_t child = start_child(body);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether body() ends a forked child by SIGKILL.
template <typename Body>
bool is_killed_in_child(const Body& body) {
  const pid_t child = start_child([&] {
    body();
    return true;
  });
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace ramet::test
