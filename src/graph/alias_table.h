// One draw of 256 outcomes from one random word: a uniform cell, which holds an outcome of its own
// and an alias, and a coin between them (Walker: "An efficient method for generating discrete
// random variables with general distributions", 1977; filled as by Vose, 1991).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ramet {

class AliasTable {
 public:
  // weights[i] >= 0 with a sum of 1; probabilities are exact to 2^-40.
  explicit AliasTable(std::array<double, 256> weights) {
    std::vector<uint32_t> small, large;
    for (uint32_t i = 0; i < 256; ++i) {
      weights[i] *= 256;
      cells_[i] = {uint64_t{1} << 32, i};
      (weights[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {  // fills the small cell up with the large outcome
      const uint32_t s = small.back(), l = large.back();
      small.pop_back();
      cells_[s] = {static_cast<uint64_t>(weights[s] * 0x1p32), l};
      weights[l] -= 1 - weights[s];
      if (weights[l] >= 1) continue;
      large.pop_back();
      small.push_back(l);
    }
  }

  // The low 8 bits choose the cell, the high 32 toss its coin.
  [[nodiscard]] uint32_t draw(uint64_t r) const {
    const auto own = static_cast<uint32_t>(r & 255);
    const Cell& cell = cells_[own];
    return (r >> 32) < cell.own_share ? own : cell.alias;
  }

 private:
  struct Cell {
    uint64_t own_share;  // of 2^32
    uint32_t alias;
  };
  std::array<Cell, 256> cells_;
};

}  // namespace ramet
