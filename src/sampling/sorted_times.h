// SortedTimes: all rows were read once, and are sorted by the times of their edges, as the store
// says. What is drawn from them needs no check. Searches know the first and the last time.
#pragma once

#include <cstdint>
#include <memory>

#include "edge_times.h"
#include "ramet/graph.h"

namespace ramet {

struct SortedTimes {
  TimeSpan of_all;

  // nullptr where a row is out of order.
  [[nodiscard]] static std::shared_ptr<const SortedTimes> make(const EdgeTimes& times,
                                                               const EdgeType& edges,
                                                               int threads);
  [[nodiscard]] static int64_t bytes() { return 0; }  // next to none
};

// nullptr as long as it is not known.
[[nodiscard]] inline const SortedTimes* known_order(const EdgeTimes& times) {
  return times.order == nullptr ? nullptr : times.order->get<SortedTimes>();
}

}  // namespace ramet
