// The normal distribution as two tables of cubics; docs/semantics.md, section 9.
//
// Cubic i holds four doubles, the constant term first, of a variable that runs from 0 to 1 between
// nodes i and i + 1. It takes the function's values and slopes at both (Hermite interpolation),
// each rounded to 32 significant bits. That is enough to keep the interpolation error of 2^-25, and
// few enough that any careful computation rounds to the same bits.
#pragma once

namespace ramet {

template <int kCubics>
struct CubicTable {
  double of[kCubics][4];
};

// z with Q(z) = p, Q the upper tail of the standard normal distribution, for p from 2^-54 to 1/2:
// 32 cubics to the octave of p.
inline constexpr int kQuantileOctaves = 53, kQuantileParts = 32;
extern const CubicTable<kQuantileOctaves * kQuantileParts> kNormalQuantile;

// 2^52 Q(z) for z from 0 to 12: 128 cubics to the unit.
inline constexpr int kTailUnits = 12, kTailParts = 128;
extern const CubicTable<kTailUnits * kTailParts> kNormalTail;

// Pointers to both tables: these, or a copy that a device reads.
struct NormalTables {
  const double* quantile = &kNormalQuantile.of[0][0];
  const double* tail = &kNormalTail.of[0][0];
};
inline constexpr NormalTables kNormalTables;

}  // namespace ramet
