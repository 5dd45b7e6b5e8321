// The k edges of a row with the smallest numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ramet {

// An in-edge at position `x` of its row.
template <typename Number>
struct NumberedEdge {
  Number number;
  int64_t x;
  bool operator<(const NumberedEdge& other) const {
    return number != other.number ? number < other.number : x < other.x;
  }
};

// Leaves the k smallest, in the order of their positions.
template <typename Number>
void keep_smallest(std::vector<NumberedEdge<Number>>& edges, int64_t k) {
  if (k < std::ssize(edges)) {
    std::nth_element(edges.begin(), edges.begin() + k, edges.end());
    edges.resize(static_cast<size_t>(k));
  }
  std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
}

}  // namespace ramet
