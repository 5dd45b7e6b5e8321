// TimeCodes: the times of edges in 16 bits each, in the order of the edges, so that a row's times
// are read side by side, wherever they are stored, and few bytes of them.
//
// Times are cut into up to 65,001 spans that have about as many edges each. An edge's code is
// the number of its span. Only where a span is allowed in part does the time itself have to be
// read. Immutable; any thread may use it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/huge_vector.h"
#include "edge_times.h"
#include "ramet/graph.h"

namespace ramet {

// The codes of edges that may be in a span of times, and whether some with the codes at its ends
// may not.
struct CodeSpan {
  uint16_t first, last;
  bool cuts_first, cuts_last;
};

class TimeCodes {
 public:
  // Without codes yet, for times like these. make() gives whole ones.
  explicit TimeCodes(std::span<const int64_t> times);

  // Reads all times. nullptr where a source is no node, or where codes would take more than an
  // eighth of the memory that is left.
  [[nodiscard]] static std::shared_ptr<const TimeCodes> make(const EdgeTimes& times,
                                                             const EdgeType& edges,
                                                             int64_t num_sources,
                                                             int threads);

  [[nodiscard]] const uint16_t* data() const { return codes_.data(); }  // by position of the edge
  [[nodiscard]] int64_t bytes() const { return std::ssize(codes_) * int64_t{sizeof(uint16_t)}; }

  // Of a span that is not empty.
  [[nodiscard]] CodeSpan of(const TimeSpan& span) const;
  [[nodiscard]] uint16_t code(int64_t time) const;
  [[nodiscard]] int size() const { return static_cast<int>(begins_.size()); }  // of all codes

 private:
  static constexpr int kCellBits = 16;

  // Times from the lowest on are in cells of the same length, each of which a few spans begin in.
  [[nodiscard]] int64_t lowest() const { return begins_[begins_.size() > 1 ? 1 : 0]; }
  [[nodiscard]] size_t cell(uint64_t time) const {
    return static_cast<size_t>((time - static_cast<uint64_t>(lowest())) >> shift_);
  }
  [[nodiscard]] int64_t last_time(size_t code) const {
    return code + 1 < begins_.size() ? begins_[code + 1] - 1 : kLastTime;
  }

  std::vector<int64_t> begins_;  // the first time of each span, ascending from kFirstTime
  int shift_ = 0;
  std::vector<uint16_t> first_code_;  // of the span that each cell begins in, and one cell more
  HugeVector<uint16_t> codes_;
};

}  // namespace ramet
