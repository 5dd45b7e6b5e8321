#include "time_codes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>

#include "base/parallel.h"
#include "base/system/space.h"

namespace ramet {
namespace {

constexpr int64_t kCodesAtOnce = int64_t{1} << 16;
constexpr size_t kSamples = 65'000;

// A time that several samples have, as many edges have it, gets a span of its own.
std::vector<int64_t> span_begins(std::span<const int64_t> times) {
  std::vector<int64_t> samples;
  for (size_t i = 0; i < times.size(); i += times.size() / kSamples + 1)
    samples.push_back(times[i]);
  std::sort(samples.begin(), samples.end());
  std::vector<int64_t> begins{kFirstTime};
  for (auto sample = samples.begin(); sample != samples.end();) {
    const auto next = std::upper_bound(sample, samples.end(), *sample);
    if (*sample > begins.back()) begins.push_back(*sample);
    if (next - sample > 1 && *sample < kLastTime) begins.push_back(*sample + 1);
    sample = next;
  }
  return begins;
}

// Calls body(i) for 0 <= i < count.
template <typename Body>
void for_each_index(size_t count, int threads, const Body& body) {
  parallel_for(static_cast<int64_t>(count), kCodesAtOnce, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      body(i);
  });
}

}  // namespace

std::shared_ptr<const TimeCodes> TimeCodes::make(const EdgeTimes& times,
                                                 const EdgeType& edges,
                                                 int64_t num_sources,
                                                 int threads) {
  const auto num_edges = static_cast<size_t>(edges.num_edges());
  if (edges.num_edges() > available_memory().bytes / 8 / int64_t{sizeof(uint16_t)}) return nullptr;
  const bool of_edges = times.of_edges != nullptr;
  const std::span given(times.data(), of_edges ? num_edges : static_cast<size_t>(num_sources));
  auto made = std::make_shared<TimeCodes>(given);
  HugeVector<uint16_t> codes(given.size());
  for_each_index(given.size(), threads, [&](size_t i) { codes[i] = made->code(given[i]); });
  if (of_edges) {
    made->codes_ = std::move(codes);
    return made;
  }
  made->codes_.resize(num_edges);
  std::atomic<bool> all_are_nodes = true;
  with_ids(edges.indices, [&](auto sources) {
    for_each_index(num_edges, threads, [&](size_t i) {
      const auto source = static_cast<size_t>(sources[i]);
      if (source >= codes.size()) {
        all_are_nodes = false;
      } else {
        made->codes_[i] = codes[source];
      }
    });
  });
  return all_are_nodes ? made : nullptr;
}

TimeCodes::TimeCodes(std::span<const int64_t> times) : begins_(span_begins(times)) {
  const auto range = static_cast<uint64_t>(begins_.back()) - static_cast<uint64_t>(lowest());
  shift_ = std::max(0, static_cast<int>(std::bit_width(range)) - kCellBits);
  const auto cell_of = [&](int64_t time) { return cell(static_cast<uint64_t>(time)); };
  for (size_t cell = 0, code = 0; cell <= cell_of(begins_.back()) + 1; ++cell) {
    while (code + 1 < begins_.size() && cell_of(begins_[code + 1]) < cell)
      ++code;
    first_code_.push_back(static_cast<uint16_t>(code));
  }
}

// By masks, for nobody can predict the branches.
uint16_t TimeCodes::code(int64_t time) const {
  if (time < lowest()) return 0;
  const size_t cell = this->cell(static_cast<uint64_t>(std::min(time, begins_.back())));
  size_t at = first_code_[cell];
  for (size_t size = first_code_[cell + 1] - at + 1; size > 1;) {
    const size_t half = size / 2;
    at += half & (0 - static_cast<size_t>(begins_[at + half] <= time));
    size -= half;
  }
  return static_cast<uint16_t>(at);
}

CodeSpan TimeCodes::of(const TimeSpan& span) const {
  const uint16_t first = code(span.first), last = code(span.last);
  return {first, last, (begins_[first] < span.first), (last_time(last) > span.last)};
}

}  // namespace ramet
