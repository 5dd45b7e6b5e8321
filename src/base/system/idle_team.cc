#include "ramet/idle_team.h"

#include <signal.h>
#include <unistd.h>

#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace ramet {
namespace {

// Whether so many threads can live at once. libgomp ends the process where it gets none.
bool can_start(int count) {
  std::promise<void> all;
  const std::shared_future<void> end = all.get_future().share();
  std::vector<std::thread> threads;
  bool could = true;
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([end] { end.wait(); });
  } catch (const std::system_error&) {
    could = false;
  }
  all.set_value();
  for (std::thread& thread : threads)
    thread.join();
  return could;
}

}  // namespace

void add_idle_team(OpenMpParallel parallel, int count) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // of the new threads: signals are for others
  const auto hold = [=] {
    parallel([](void*) {}, nullptr, static_cast<unsigned>(count) + 1, 0);
    for (;;)
      pause();  // a team ends with its first thread
  };
  try {
    if (can_start(count + 1)) std::thread(hold).detach();
  } catch (const std::system_error&) {
    // Threads of the runtime go on as before.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace ramet
