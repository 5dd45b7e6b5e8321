#include "stages.h"

#include <algorithm>

#include "loader/loader_parts.h"

namespace ramet {
namespace {

constexpr int64_t kReadsAhead = 4;  // batches: a disk has enough to do, and a loop may stutter

}  // namespace

AheadLimits limits_of(const LoaderParts& parts, GroupWork group_work) {
  const HostOptions& host = parts.options.host;
  if (group_work == GroupWork::kNone)
    return {.reading = parts.host.reads_ahead ? kReadsAhead : 0,
            .known = parts.host.caches->window()};
  const bool may_look = host.cache_by == CacheBy::kLookAhead || host.cache_by == CacheBy::kAuto;
  const std::vector<Location>& wanted = wanted_locations(parts.options);
  const bool reads = std::any_of(wanted.begin(), wanted.end(), reads_ahead);
  return {.reading = reads ? kReadsAhead : 0,
          .known = may_look && host.cache_rows > 0 ? host.look_ahead : 0};
}

std::array<StageState, kStages> stages_of(GroupWork group_work,
                                          bool in_order,
                                          const AheadLimits& limits,
                                          int64_t first) {
  const bool is_alone = group_work == GroupWork::kNone, pulls = group_work == GroupWork::kPull;
  const Runner sampling = group_work == GroupWork::kSample ? Runner::kGroup : Runner::kWorkers;
  const Runner one_worker = in_order ? Runner::kOneWorker : Runner::kNobody;
  const Runner pulling = pulls ? Runner::kGroup : Runner::kNobody;
  const Runner fetching = is_alone && !in_order ? Runner::kNobody : Runner::kWorkers;
  return {{{sampling, limits.sampled(), first},
           {one_worker, limits.sampled(), first},
           {one_worker, limits.reading, first},
           {pulling, limits.reading, first},
           {fetching, 0, first},
           {Runner::kCaller, 0, first}}};
}

}  // namespace ramet
