// Floyd's algorithm (Bentley, Floyd: "A sample of brilliance", CACM 1987): for j = d - k .. d - 1
// draw x in [0, j] and take x, or j if x is taken already. k draws, no work that grows with the
// degree, every k-subset equally likely. Few picks are kept sorted as they come, by insertion, and
// membership is a scan of them; many go through a small hash set and are sorted at the end.
#include "pick.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int64_t kFewPicks = 32;

template <typename Words>
int64_t draw(const Words& words, int64_t t, int64_t n) {
  return static_cast<int64_t>(
      uniform_below(words(static_cast<uint64_t>(t)), static_cast<uint64_t>(n)));
}

// Inserts x into the ascending out[0 .. size).
void insert_sorted(int64_t* out, int64_t size, int64_t x) {
  while (size > 0 && out[size - 1] > x) {
    out[size] = out[size - 1];
    --size;
  }
  out[size] = x;
}

template <typename Words>
void pick_with_replacement(const Words& words, int64_t degree, int64_t k, int64_t* out) {
  for (int64_t t = 0; t < k; ++t)
    out[t] = draw(words, t, degree);
  std::sort(out, out + k);
}

// True if x was not in the set. The set has more slots than elements.
bool add(std::vector<int64_t>& set, int64_t x) {
  const size_t mask = set.size() - 1;
  for (size_t slot = mix64(static_cast<uint64_t>(x)) & mask;; slot = (slot + 1) & mask) {
    if (set[slot] == x) return false;
    if (set[slot] < 0) {
      set[slot] = x;
      return true;
    }
  }
}

}  // namespace

int64_t num_picks(const PickRule& rule, int64_t degree) {
  if (degree == 0) return 0;
  if (rule.fanout == kAllNeighbors) return degree;
  return rule.replace ? rule.fanout : std::min(rule.fanout, degree);
}

void Picker::pick(const DrawKeys& keys, int64_t degree, int64_t* out) {
  if (keys.mixture.plain) {
    const uint64_t key = keys.now;
    pick_from([key](uint64_t t) { return absorb(key, t); }, degree, out);
  } else {
    pick_from([&keys](uint64_t t) { return draw_word(keys, t); }, degree, out);
  }
}

template <typename Words>
void Picker::pick_from(const Words& words, int64_t degree, int64_t* out) {
  const int64_t k = num_picks(rule_, degree);
  if (rule_.replace) {
    pick_with_replacement(words, degree, k, out);
  } else if (k == degree) {
    std::iota(out, out + k, 0);
  } else if (k <= kFewPicks) {
    pick_few(words, degree, out);
  } else {
    pick_many(words, degree, out);
  }
}

template <typename Words>
void Picker::pick_few(const Words& words, int64_t degree, int64_t* out) const {
  const int64_t k = rule_.fanout;
  for (int64_t t = 0; t < k; ++t) {
    const int64_t j = degree - k + t;
    const int64_t x = draw(words, t, j + 1);
    // j exceeds every pick so far, so it goes to the end.
    if (std::find(out, out + t, x) != out + t) {
      out[t] = j;
    } else {
      insert_sorted(out, t, x);
    }
  }
}

template <typename Words>
void Picker::pick_many(const Words& words, int64_t degree, int64_t* out) {
  const int64_t k = rule_.fanout;
  picked_.assign(std::bit_ceil(static_cast<size_t>(k) * 2), -1);
  for (int64_t t = 0; t < k; ++t) {
    const int64_t j = degree - k + t;
    const int64_t x = draw(words, t, j + 1);
    out[t] = add(picked_, x) ? x : j;
    if (out[t] == j) add(picked_, j);
  }
  std::sort(out, out + k);
}

}  // namespace ramet
