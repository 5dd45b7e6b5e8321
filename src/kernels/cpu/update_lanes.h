// The updates of update.h over lanes of floats.
//
// `L` wraps the instructions of a file: L::kLanes floats in an L::Vector. What is left of a row is
// computed by One, one float at a time. In an unnamed namespace, so that each file has its own
// copy, compiled for its instructions. Rules are constexpr so that nvcc compiles them for a GPU.
#pragma once

#include <cstdint>

#include "update.h"

namespace ramet {
namespace {

struct One {
  using Vector = float;
  static constexpr int64_t kLanes = 1;
  static Vector load(const float* p) { return *p; }
  static void store(float* p, Vector v) { *p = v; }
  static Vector fill(float v) { return v; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector sub(Vector a, Vector b) { return a - b; }
  static Vector mul(Vector a, Vector b) { return a * b; }
  static Vector div(Vector a, Vector b) { return a / b; }
  static Vector sqrt(Vector a) { return __builtin_sqrtf(a); }
};

// Calls body.template run<lanes>(i) for all elements.
template <typename L, typename Body>
void for_each_lane(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + L::kLanes <= width; i += L::kLanes)
    body.template run<L>(i);
  for (; i < width; ++i)
    body.template run<One>(i);
}

// The gradient that a rule steps by. Without decay a weight that is infinite takes no part in it.
template <typename L>
constexpr typename L::Vector decayed_gradient(const RowUpdate& row, int64_t i) {
  const auto g = L::load(row.gradient + i);
  if (row.weight_decay == 0) return g;
  return L::add(g, L::mul(L::fill(row.weight_decay), L::load(row.weight + i)));
}

struct Sgd {
  const RowUpdate& row;

  template <typename L>
  constexpr void run(int64_t i) const {
    const auto step = L::mul(L::fill(row.rate), decayed_gradient<L>(row, i));
    L::store(row.weight + i, L::sub(L::load(row.weight + i), step));
  }
};

// weight -= rate * g / (sqrt(squares) + eps)
template <typename L>
constexpr void step_by_root(const RowUpdate& row,
                            int64_t i,
                            typename L::Vector g,
                            typename L::Vector squares) {
  const auto root = L::add(L::sqrt(squares), L::fill(row.eps));
  const auto step = L::mul(L::fill(row.rate), L::div(g, root));
  L::store(row.weight + i, L::sub(L::load(row.weight + i), step));
}

struct AdaGrad {
  const RowUpdate& row;

  template <typename L>
  constexpr void run(int64_t i) const {
    const auto g = decayed_gradient<L>(row, i);
    const auto sum = L::add(L::load(row.moment2 + i), L::mul(g, g));
    L::store(row.moment2 + i, sum);
    step_by_root<L>(row, i, g, sum);
  }
};

struct RowwiseAdaGrad {
  const RowUpdate& row;

  template <typename L>
  constexpr void run(int64_t i) const {
    step_by_root<L>(row, i, decayed_gradient<L>(row, i), L::fill(*row.moment2));
  }
};

struct RmsProp {
  const RowUpdate& row;

  template <typename L>
  constexpr void run(int64_t i) const {
    const auto g = decayed_gradient<L>(row, i), old = L::load(row.moment2 + i);
    const auto average = L::add(old, L::mul(L::fill(row.blend2), L::sub(L::mul(g, g), old)));
    L::store(row.moment2 + i, average);
    step_by_root<L>(row, i, g, average);
  }
};

struct Adam {
  const RowUpdate& row;

  template <typename L>
  constexpr void run(int64_t i) const {
    const auto weight = L::mul(L::load(row.weight + i), L::fill(row.keep));
    const auto g = decayed_gradient<L>(row, i);
    const auto old1 = L::load(row.moment1 + i), old2 = L::load(row.moment2 + i);
    const auto first = L::add(old1, L::mul(L::fill(row.blend1), L::sub(g, old1)));
    const auto second = L::add(old2, L::mul(L::fill(row.blend2), L::sub(L::mul(g, g), old2)));
    L::store(row.moment1 + i, first);
    L::store(row.moment2 + i, second);
    const auto root = L::add(L::mul(L::sqrt(second), L::fill(row.root_scale)), L::fill(row.eps));
    const auto step = L::mul(L::fill(row.rate), L::div(first, root));
    L::store(row.weight + i, L::sub(weight, step));
  }
};

// The sum of squares in 16 parts, element i in part i % 16, and these in pairs: an order that all
// lanes can keep.
constexpr int64_t kParts = 16;

struct Squares {
  const RowUpdate& row;
  float* parts;

  template <typename L>
  constexpr void run(int64_t i) const {
    float* part = parts + i % kParts;
    const auto g = decayed_gradient<L>(row, i);
    L::store(part, L::add(L::load(part), L::mul(g, g)));
  }
};

template <typename L>
float mean_square(const RowUpdate& row) {
  float parts[kParts] = {};
  for_each_lane<L>(row.width, Squares{row, parts});
  for (int64_t half = kParts / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  }
  return parts[0] / static_cast<float>(row.width);
}

template <typename L>
void update_row(UpdateRule rule, const RowUpdate& row) {
  switch (rule) {
    case UpdateRule::kSgd:
      return for_each_lane<L>(row.width, Sgd{row});
    case UpdateRule::kAdaGrad:
      return for_each_lane<L>(row.width, AdaGrad{row});
    case UpdateRule::kRowwiseAdaGrad:
      *row.moment2 += mean_square<L>(row);
      return for_each_lane<L>(row.width, RowwiseAdaGrad{row});
    case UpdateRule::kRmsProp:
      return for_each_lane<L>(row.width, RmsProp{row});
    case UpdateRule::kAdam:
      return for_each_lane<L>(row.width, Adam{row});
  }
}

struct Sum {
  float* to;
  const float* values;

  template <typename L>
  constexpr void run(int64_t i) const {
    L::store(to + i, L::add(L::load(to + i), L::load(values + i)));
  }
};

template <typename L>
void add_row(float* to, const float* values, int64_t width) {
  for_each_lane<L>(width, Sum{to, values});
}

}  // namespace
}  // namespace ramet
