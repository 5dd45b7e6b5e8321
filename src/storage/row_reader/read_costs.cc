#include "read_costs.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/system/space.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr double kEnoughSeconds = 2e-3;
constexpr size_t kFewRequests = 16, kMostRequests = 1024;
constexpr int kRounds = 3;
constexpr int64_t kSmallFile = int64_t{4} << 20;

// The seconds of a request of `size` bytes at random places of the file `span`: of `count` of them,
// and of more, where these take no while. 0 where one fails.
double seconds_of_request(
    ReadQueue& queue, const RowSpan& rows, size_t span, int64_t end, int64_t size, size_t& count) {
  const int64_t places = (end - rows.offset) / size;
  uint64_t draw = random_bits();  // not what the page cache has from the last time
  for (;; count *= 2) {
    ReadBatch batch;
    for (size_t i = 0; i < count; ++i) {
      const auto place = static_cast<int64_t>(mix64(++draw) % static_cast<uint64_t>(places));
      batch.plan.requests.push_back({span, (rows.offset / size + place) * size, size, size, 0, 0});
    }
    const auto begin = std::chrono::steady_clock::now();
    queue.push(batch);
    queue.wait(batch, false);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (batch.failed.load()) return 0;
    if (seconds.count() >= kEnoughSeconds || count >= kMostRequests)
      return seconds.count() / static_cast<double>(count);
  }
}

}  // namespace

ReadCosts measure_read_costs(ReadQueue& queue,
                             std::span<const RowSpan> spans,
                             int64_t row_bytes,
                             int64_t block,
                             int64_t most_bytes) {
  const auto largest =
      std::max_element(spans.begin(), spans.end(),
                       [](const RowSpan& a, const RowSpan& b) { return a.num_rows < b.num_rows; });
  if (largest == spans.end() || largest->num_rows * row_bytes < kSmallFile)
    return {.problem = concat("no file has ", kSmallFile >> 20, " MiB of rows to measure it with")};
  const auto span = static_cast<size_t>(largest - spans.begin());
  const int64_t end = largest->offset + largest->num_rows * row_bytes;
  const int64_t small = block > 1 ? block : 512;
  const int64_t large = most_bytes / small * small;
  const auto least = std::numeric_limits<double>::max();
  double of_small = least, of_large = least;
  size_t smalls = kFewRequests, larges = kFewRequests;
  for (int round = 0; round < kRounds; ++round) {  // what else uses the disk disturbs some of them
    of_small = std::min(of_small, seconds_of_request(queue, *largest, span, end, small, smalls));
    of_large = std::min(of_large, seconds_of_request(queue, *largest, span, end, large, larges));
  }
  if (of_small <= 0 || of_large <= 0) return {.problem = concat("cannot read ", largest->path)};
  ReadCosts costs;
  costs.byte_seconds =
      std::max(of_large - of_small, of_large / 100) / static_cast<double>(large - small);
  costs.request_seconds =
      std::max(of_small - costs.byte_seconds * static_cast<double>(small), of_small / 100);
  if (is_in_memory(largest->path)) costs.problem = concat(largest->path, " lies in memory");
  return costs;
}

}  // namespace ramet
