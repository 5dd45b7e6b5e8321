// The factor c of a row in LABOR-i, and in LABOR by weights (importance.h). Pure functions;
// docs/semantics.md, section 8, has the arithmetic to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ramet {

// The c that solves sum of 1 / min(1, c p) = d^2 / fanout over the d sources of a row, whose
// importances are `p` and 1 / p `inverse`; 1 where the fanout takes all of them.
[[nodiscard]] double solve_c(std::span<const double> p,
                             std::span<const double> inverse,
                             int64_t fanout);
// Where every p is 1.
[[nodiscard]] double solve_c_of_ones(size_t degree, int64_t fanout);

// With weights, of whose sum each edge of a row has a share: the c that solves sum of
// min(1, c share) = fanout; infinity where the fanout takes all of them.
[[nodiscard]] double solve_c_of_shares(std::span<const double> shares, int64_t fanout);
// The same where their sum in blocks is known.
[[nodiscard]] double solve_c_of_shares(std::span<const double> shares, int64_t fanout, double sum);
// What the sum of share^2 (1 / q - 1) then is for q = min(1, c share); and the c with which q =
// min(1, c p) has that `variance`, 1 where it is 0.
[[nodiscard]] double variance_of_shares(std::span<const double> shares, double c);
[[nodiscard]] double solve_c_of_variance(std::span<const double> p,
                                         std::span<const double> shares,
                                         double variance);

}  // namespace ramet
