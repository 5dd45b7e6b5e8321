// The rates of one of Adam's steps (docs/semantics.md, section 19): doubles, by operations that
// IEEE 754 rounds, so that a GPU has the same bits.
#pragma once

#include <cmath>
#include <cstdint>

namespace ramet {

// By squaring: the same bits on every machine, unlike pow.
constexpr double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

struct AdamOptions {
  double learning_rate, beta1, beta2;
  bool counts_rows;  // Steps::kRow
};

struct AdamRates {
  float rate, root_scale;  // of RowUpdate
};

constexpr AdamRates adam_rates(const AdamOptions& adam, int64_t number) {
  const double unbiased1 = 1 - power(adam.beta1, number);
  const double unbiased2 = sqrt(1 - power(adam.beta2, number));
  const double rate = adam.learning_rate / unbiased1;
  // torch's Adam, and torch's SparseAdam, which differ in what eps is added to.
  return {static_cast<float>(adam.counts_rows ? rate : rate * unbiased2),
          static_cast<float>(adam.counts_rows ? 1 / unbiased2 : 1)};
}

}  // namespace ramet
