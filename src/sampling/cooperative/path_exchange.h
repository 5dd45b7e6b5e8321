// PathExchange: with Time::monotonic, what the paths to a node leave to its own edges goes to its
// owner with the node: two times for each, in lists of a message that follow those of the nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "ramet/error.h"
#include "sampling/path_times.h"

namespace ramet {

template <typename Id>
class PathExchange {
 public:
  // `paths`: of the nodes that `routes` sends.
  void set(size_t type, std::span<const TimeSpan> paths, const Routes<Id>& routes) {
    counts_.resize(std::max(counts_.size(), type + 1));
    times_.resize(counts_.size());
    counts_[type].clear();
    for (const int64_t count : routes.counts())
      counts_[type].push_back(2 * count);
    times_[type].resize(2 * paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
      const auto at = 2 * static_cast<size_t>(routes.positions()[i]);
      times_[type][at] = static_cast<Id>(paths[i].first);
      times_[type][at + 1] = static_cast<Id>(paths[i].last);
    }
  }
  [[nodiscard]] Values<Id> values(size_t type) const { return {counts_[type], times_[type]}; }

  // Adds to `paths` what ranks say in a list about the nodes that they ask for.
  static void add(const MessageReader<Id>& from,
                  size_t list,
                  const IncomingIds<Id>& requests,
                  size_t type,
                  PathTimes<Id>& paths) {
    const auto positions = requests.positions();
    size_t at = 0;
    for (size_t rank = 0; rank < requests.counts().size(); ++rank) {
      const auto times = from.values(list, rank);
      const auto count = static_cast<size_t>(requests.counts()[rank]);
      if (times.size() != 2 * count)
        throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", times.size(), " times of ", count,
                    " nodes, expected two of each");
      for (size_t i = 0; i < count; ++i)
        paths.add(type, positions[at++], {times[2 * i], times[2 * i + 1]});
    }
  }

 private:
  std::vector<std::vector<int64_t>> counts_;  // by node type
  std::vector<std::vector<Id>> times_;
};

}  // namespace ramet
