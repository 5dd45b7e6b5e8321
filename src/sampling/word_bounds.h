// WordBounds: the bounds that the words of rows' edges are compared with, kept by degree, since the
// table of one takes longer to make than a short row to scan.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fanout.h"
#include "kernels/cpu/isa_kernels.h"

namespace ramet {

// Of one thread. 136 bytes for each of 16 degrees to the octave.
class WordBounds {
 public:
  explicit WordBounds(const Mixture& mixture) : mixture_(mixture) {}

  // For the part threshold_of(fanout, degree) of all words or a little more: that of the largest
  // degree that has a bound and is no larger. A caller may set its `word` to a smaller one.
  WordBound& of(int64_t fanout, int64_t degree) {
    const int shift =
        std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(degree))) - 5);
    const auto number = static_cast<size_t>(16 * shift + (degree >> shift));
    if (number >= bounds_.size()) bounds_.resize(number + 1);
    WordBound& bound = bounds_[number];
    if (bound.word == 0) {
      const int64_t least = degree >> shift << shift;
      bound = word_bound(mixture_,
                         takes_all(fanout, least) ? ~uint64_t{0} : threshold_of(fanout, least));
    }
    return bound;
  }

 private:
  const Mixture mixture_;
  std::vector<WordBound> bounds_;
};

}  // namespace ramet
