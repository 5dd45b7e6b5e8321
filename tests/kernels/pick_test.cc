#include "kernels/cpu/pick.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "ramet/random.h"
#include "ramet/sampler.h"

using namespace ramet;

namespace {

std::vector<int64_t> pick(const PickRule& rule, uint64_t key, int64_t degree) {
  std::vector<int64_t> out(static_cast<size_t>(num_picks(rule, degree)));
  Picker(rule).pick({key}, degree, out.data());
  return out;
}

// The slow twin of docs/semantics.md, section 3.
std::vector<int64_t> twin(const PickRule& rule, uint64_t key, int64_t degree) {
  std::vector<int64_t> picks;
  const auto draw = [&](int64_t t, int64_t n) {
    return static_cast<int64_t>(
        uniform_below(absorb(key, static_cast<uint64_t>(t)), static_cast<uint64_t>(n)));
  };
  if (degree == 0) return picks;
  if (rule.replace) {
    for (int64_t t = 0; t < rule.fanout; ++t)
      picks.push_back(draw(t, degree));
  } else if (rule.fanout == kAllNeighbors || rule.fanout >= degree) {
    for (int64_t p = 0; p < degree; ++p)
      picks.push_back(p);
  } else {
    std::set<int64_t> chosen;
    for (int64_t t = 0; t < rule.fanout; ++t) {
      const int64_t j = degree - rule.fanout + t, x = draw(t, j + 1);
      chosen.insert(chosen.count(x) > 0 ? j : x);
    }
    picks.assign(chosen.begin(), chosen.end());
  }
  std::sort(picks.begin(), picks.end());
  return picks;
}

}  // namespace

// docs/semantics.md, section 3.
TEST_CASE("picks equal the twin's, few and many, with and without replacement") {
  for (const bool replace : {false, true}) {
    for (const int64_t fanout : {0, 1, 2, 5, 31, 32, 33, 64, 500}) {
      const PickRule rule{fanout, replace};
      for (const int64_t degree : {0, 1, 2, 5, 32, 33, 34, 100, 501, 40'000}) {
        for (uint64_t key = 0; key < 20; ++key) {
          REQUIRE(pick(rule, mix64(key), degree) == twin(rule, mix64(key), degree));
        }
      }
    }
  }
  CHECK(pick({kAllNeighbors, false}, 1, 100) == twin({kAllNeighbors, false}, 1, 100));
}

TEST_CASE("every k-subset is equally likely") {
  const PickRule rule{3, false};
  constexpr int kDraws = 100'000;
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t i = 0; i < kDraws; ++i)
    ++counts[pick(rule, absorb(3, i), 7)];
  CHECK(counts.size() == 35);
  double chi2 = 0;
  for (const auto& [subset, count] : counts) {
    chi2 += std::pow(count - kDraws / 35.0, 2) / (kDraws / 35.0);
  }
  CHECK(chi2 < 75);  // 34 degrees of freedom: p = 7e-5 at 75
}
