// Picking k of the d positions of one row; docs/semantics.md, section 3.
#pragma once

#include <cstdint>
#include <vector>

#include "base/draw_keys.h"

namespace ramet {

struct PickRule {
  int64_t fanout = 0;  // kAllNeighbors: every position
  bool replace = false;
};

// How many positions a row of `degree` edges gives.
[[nodiscard]] int64_t num_picks(const PickRule& rule, int64_t degree);

// One per thread: it keeps scratch memory for large fanouts.
class Picker {
 public:
  explicit Picker(const PickRule& rule) : rule_(rule) {}

  // Writes num_picks(rule, degree) ascending positions in [0, degree) to `out`, drawn from `keys`,
  // a node's.
  void pick(const DrawKeys& keys, int64_t degree, int64_t* out);

 private:
  // `words(t)` is the t-th random word.
  template <typename Words>
  void pick_from(const Words& words, int64_t degree, int64_t* out);
  template <typename Words>
  void pick_few(const Words& words, int64_t degree, int64_t* out) const;
  template <typename Words>
  void pick_many(const Words& words, int64_t degree, int64_t* out);

  PickRule rule_;
  std::vector<int64_t> picked_;  // open addressing set of pick_many, -1 where empty
};

}  // namespace ramet
