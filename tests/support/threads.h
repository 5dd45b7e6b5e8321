// Threads that do the same at once.
#pragma once

#include <thread>
#include <vector>

namespace ramet::test {

// Calls body(0) to body(count - 1), each in a thread of its own, and waits for all.
template <typename Body>
void in_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back(body, t);
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace ramet::test
