// RowsByTime: the edges of each row in the order of (time, position), for rows that are stored in
// another order. So the latest that a time allows are found by a search, and stand side by side.
//
// An entry is an edge's number in its row. In rows of up to 2^16 edges it also has the code of the
// edge's time (time_codes.h), so that the search reads entries alone. Immutable; any thread may use
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/huge_vector.h"
#include "edge_times.h"
#include "ramet/graph.h"
#include "rows.h"
#include "time_codes.h"

namespace ramet {

class RowsByTime {
 public:
  explicit RowsByTime(TimeCodes codes) : codes_(std::move(codes)) {}

  // Reads all times. nullptr where rows or sources are none, or where it would take more than an
  // eighth of the memory that is left.
  [[nodiscard]] static std::shared_ptr<const RowsByTime> make(const EdgeTimes& times,
                                                              const EdgeType& edges,
                                                              int64_t num_sources,
                                                              int threads);

  [[nodiscard]] int64_t bytes() const { return std::ssize(entries_) * int64_t{sizeof(int32_t)}; }
  [[nodiscard]] const TimeCodes& codes() const { return codes_; }

  static constexpr int64_t kMostCoded = int64_t{1} << 16;  // edges of a row
  [[nodiscard]] static bool is_coded(const Row& row) { return row.degree <= kMostCoded; }
  // Of entries, which stand where the rows' edges do.
  [[nodiscard]] uint32_t number(const Row& row, int64_t at) const {
    const auto entry = static_cast<uint32_t>(entries_[static_cast<size_t>(at)]);
    return is_coded(row) ? entry & 0xffff : entry;
  }
  // Of a row that is coded.
  [[nodiscard]] int code(int64_t at) const {
    return (entries_[static_cast<size_t>(at)] >> 16) + kMiddle;
  }
  // ends[i]: of rows[i] if it is coded, behind its entries with codes up to last[i].
  void find_ends(std::span<const Row> rows, std::span<const int> last, int64_t* ends) const;

 private:
  static constexpr int kMiddle = 1 << 15;  // entries have signs
  static constexpr int32_t entry(int code, int64_t number) {
    return static_cast<int32_t>((int64_t{code} - kMiddle) * kMostCoded + number);
  }

  template <typename TimeAt>
  void fill(const Row& row, const TimeAt& time_at);

  TimeCodes codes_;
  HugeVector<int32_t> entries_;
};

// nullptr as long as there are none.
[[nodiscard]] inline const RowsByTime* known_rows(const EdgeTimes& times) {
  return times.by_time == nullptr ? nullptr : times.by_time->get<RowsByTime>();
}

}  // namespace ramet
