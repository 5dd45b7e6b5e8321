#include "ramet/idle_team.h"

#include <unistd.h>

#include <system_error>
#include <thread>

namespace ramet {

void add_idle_team(OpenMpParallel parallel, int count) {
  const auto hold = [=] {
    parallel([](void*) {}, nullptr, static_cast<unsigned>(count) + 1, 0);
    for (;;)
      pause();  // a team ends with its first thread
  };
  try {
    std::thread(hold).detach();
  } catch (const std::system_error&) {
    // Threads of the runtime go on as before.
  }
}

}  // namespace ramet
