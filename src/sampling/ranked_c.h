// RankedC: the values that c has in the first iteration of LABOR-i without weights, in ascending
// order.
//
// They depend on degree and fanout alone, so a hop has few: n different degrees are those of n^2 /
// 2 edges or more. The largest c of a source is kept as its rank, in a quarter of the bytes: tables
// of ranks stay in caches that tables of c do not. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ramet {

class RankedC {
 public:
  using Rank = uint16_t;
  static constexpr size_t kMostRanks = std::numeric_limits<Rank>::max();  // without 0

  // Of the rows of a hop: what add() gets again and again, and then sort(). False if there are too
  // many values.
  void clear() { value_.clear(); }
  void add(double c) { value_.push_back(c); }
  [[nodiscard]] bool sort() {
    std::sort(value_.begin(), value_.end());
    value_.erase(std::unique(value_.begin(), value_.end()), value_.end());
    if (value_.size() > kMostRanks) return false;
    value_.insert(value_.begin(), 0);
    inverse_.resize(value_.size());
    std::transform(value_.begin(), value_.end(), inverse_.begin(), [](double c) { return 1 / c; });
    return true;
  }

  // From 1 on, of one of the values; 0 is below them all.
  [[nodiscard]] Rank of(double c) const {
    return static_cast<Rank>(std::lower_bound(value_.begin(), value_.end(), c) - value_.begin());
  }
  // By rank.
  [[nodiscard]] const double* value() const { return value_.data(); }
  [[nodiscard]] const double* inverse() const { return inverse_.data(); }

 private:
  std::vector<double> value_, inverse_;
};

}  // namespace ramet
