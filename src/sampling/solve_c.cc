#include "solve_c.h"

#include <algorithm>
#include <limits>

#include "base/block_sum.h"
#include "base/fanout.h"

namespace ramet {
namespace {

// How many sources or edges are drawn with certainty.
int64_t count_certain(std::span<const double> p, double c) {
  int64_t count = 0;
  for (const double value : p)
    count += c * value >= 1 ? 1 : 0;
  return count;
}

}  // namespace

// Sources with c p >= 1 count 1 each, whatever c is; leaving them out, the equation is linear. With
// the c that this gives more of them may reach 1, never fewer, so that a few rounds settle it.
double solve_c(std::span<const double> p, std::span<const double> inverse, int64_t fanout) {
  if (takes_all(fanout, std::ssize(p))) return 1;
  const auto degree = static_cast<double>(p.size());
  const double target = degree * degree / static_cast<double>(fanout);
  double c = 0;
  int64_t count = 0;
  for (int64_t certain = -1; count > certain && count < std::ssize(p);) {
    const double sum =
        sum_in_blocks(p.size(), [&](size_t e) { return c * p[e] >= 1 ? 0 : inverse[e]; });
    certain = count;
    c = sum / (target - static_cast<double>(count));
    count = count_certain(p, c);
  }
  return c;
}

double solve_c_of_ones(size_t degree, int64_t fanout) {
  if (takes_all(fanout, static_cast<int64_t>(degree))) return 1;
  const auto d = static_cast<double>(degree);
  return d / (d * d / static_cast<double>(fanout));
}

// The same rounds. The largest edges are certain; the others share what the fanout leaves.
double solve_c_of_shares(std::span<const double> shares, int64_t fanout) {
  return solve_c_of_shares(shares, fanout,
                           sum_in_blocks(shares.size(), [&](size_t e) { return shares[e]; }));
}

double solve_c_of_shares(std::span<const double> shares, int64_t fanout, double sum) {
  if (takes_all(fanout, std::ssize(shares))) return std::numeric_limits<double>::infinity();
  double c = static_cast<double>(fanout) / sum;
  int64_t count = count_certain(shares, c);
  for (int64_t certain = 0; count > certain && count < fanout;) {
    sum =
        sum_in_blocks(shares.size(), [&](size_t e) { return c * shares[e] >= 1 ? 0 : shares[e]; });
    certain = count;
    c = static_cast<double>(fanout - count) / sum;
    count = count_certain(shares, c);
  }
  return c;
}

double variance_of_shares(std::span<const double> shares, double c) {
  return sum_in_blocks(shares.size(), [&](size_t e) {
    return shares[e] * (shares[e] / std::min(1.0, c * shares[e]) - shares[e]);
  });
}

// Certain edges add nothing to the variance, and the others share^2 / (c p) - share^2. c grows from
// round to round, but where certain edges have nearly all of the weight, rounding may say else.
double solve_c_of_variance(std::span<const double> p,
                           std::span<const double> shares,
                           double variance) {
  if (variance == 0) return 1;
  double c = 0;
  int64_t count = 0;
  for (int64_t certain = -1; count > certain;) {
    const double sum = sum_in_blocks(
        p.size(), [&](size_t e) { return c * p[e] >= 1 ? 0 : shares[e] * (shares[e] / p[e]); });
    const double rest = sum_in_blocks(
        p.size(), [&](size_t e) { return c * p[e] >= 1 ? 0 : shares[e] * shares[e]; });
    const double next = sum / (variance + rest);
    if (!(next > c)) break;
    certain = count;
    c = next;
    count = count_certain(p, c);
  }
  return c;
}

}  // namespace ramet
