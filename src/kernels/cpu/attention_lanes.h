// The loops of attention.h over 16 elements at once.
//
// `L` wraps the instructions of a file: 16 elements T in an L::Values. Rows end in a part of
// 16, which reads as 0 beyond the end. A dot product has 16 parts, element i in part i % 16, which
// L::sum adds in pairs: the upper half to the lower, four times. In an unnamed namespace, so that
// each file has its own copy, compiled for its instructions.
#pragma once

#include <cstdint>

#include "attention.h"

namespace ramet {
namespace {

constexpr int64_t kLanes = 16;
constexpr int kHeadsAtOnce = 4;           // sums in registers
constexpr int64_t kEdgesAhead = 16;       // whose rows are requested, at most
constexpr int64_t kRowBytesAhead = 1024;  // of each; the processor finds the rest of a long row

// Calls body.template run<kWhole>(column, count) for each 16 columns.
template <typename Body>
inline void for_each_block(int64_t width, const Body& body) {
  int64_t column = 0;
  for (; column + kLanes <= width; column += kLanes)
    body.template run<true>(column, kLanes);
  if (column < width) body.template run<false>(column, width - column);
}

template <typename L, bool kWhole, typename T>
inline typename L::Values load(const T* p, int64_t count) {
  if constexpr (kWhole)
    return L::load(p);
  else
    return L::load_part(p, count);
}

template <typename L, bool kWhole, typename T>
inline void store(T* p, int64_t count, typename L::Values v) {
  if constexpr (kWhole)
    L::store(p, v);
  else
    L::store_part(p, count, v);
}

// The rows that the edges of node `next` read.
template <typename T>
[[gnu::always_inline]] inline void request_rows(const EdgeLists& edges,
                                                int64_t next,
                                                const T* rows,
                                                int64_t width) {
  const int64_t first = edges.offsets[next], last = edges.offsets[next + 1];
  const int64_t bytes = width * int64_t{sizeof(T)};
  for (int64_t e = first; e < last && e < first + kEdgesAhead; ++e) {
    const char* row = reinterpret_cast<const char*>(rows + edges.ends[e] * width);
    for (int64_t at = 0; at < bytes && at < kRowBytesAhead; at += 64)
      __builtin_prefetch(row + at, 0, 3);
  }
}

// exp(x) = 2^n exp(r), where n is x / ln 2 rounded, and exp(r) is Taylor's polynomial.
struct FloatExp {
  using Value = float;
  static constexpr int kTerms = 8;
  static constexpr float kLeast = -87.3365F;        // about the logarithm of 2^-126
  static constexpr float kRound = 0x1.8p23F;        // adding this rounds to an integer
  static constexpr float kPerLn2 = 0x1.715476p+0F;  // 1 / ln 2
  static constexpr float kLn2High = 0x1.62e4p-1F;   // n times this is exact
  static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
};
struct DoubleExp {
  using Value = double;
  static constexpr int kTerms = 14;
  static constexpr double kLeast = -708.396;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kPerLn2 = 0x1.71547652b82fep+0;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
};

template <typename L>
inline typename L::Values exp_lanes(typename L::Values x) {
  using E = typename L::Exp;
  const auto least = L::fill(E::kLeast);
  const auto bounded = L::max(least, x);  // a NaN stays
  const auto shifted = L::add(L::mul(bounded, L::fill(E::kPerLn2)), L::fill(E::kRound));
  const auto n = L::sub(shifted, L::fill(E::kRound));
  auto r = L::sub(bounded, L::mul(n, L::fill(E::kLn2High)));
  r = L::sub(r, L::mul(n, L::fill(E::kLn2Low)));
  auto sum = L::fill(1);
  for (int i = E::kTerms - 1; i > 0; --i)
    sum = L::add(L::fill(1), L::mul(L::mul(r, L::fill(1 / typename E::Value(i))), sum));
  return L::keep_above(x, least, L::mul(sum, L::power_of_two(shifted)));
}

template <typename L, typename T>
struct ExpBlock {
  T* values;

  template <bool kWhole>
  void run(int64_t at, int64_t count) const {
    store<L, kWhole>(values + at, count, exp_lanes<L>(load<L, kWhole>(values + at, count)));
  }
};

template <typename L, typename T>
void exp_values(T* values, int64_t count) {
  for_each_block(count, ExpBlock<L, T>{values});
}

// Columns of the sums of kHeads heads of a destination.
template <typename L, typename T, int kHeads>
struct SumBlock {
  const HeadArgs<T>& args;
  int64_t node, head;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    typename L::Values sums[kHeads];
    for (int h = 0; h < kHeads; ++h)
      sums[h] = L::fill(0);
    const EdgeLists& edges = args.edges;
    for (int64_t e = edges.offsets[node]; e < edges.offsets[node + 1]; ++e) {
      const auto row = load<L, kWhole>(args.rows + edges.ends[e] * args.width + column, count);
      const T* weights = args.weights + e * args.heads + head;
      for (int h = 0; h < kHeads; ++h)
        sums[h] = L::add(sums[h], L::mul(L::fill(weights[h]), row));
    }
    for (int h = 0; h < kHeads; ++h)
      store<L, kWhole>(args.out + (node * args.heads + head + h) * args.width + column, count,
                       sums[h]);
  }
};

template <typename L, typename T>
void head_sums(const HeadArgs<T>& args, int64_t begin, int64_t end) {
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end) request_rows(args.edges, node + 1, args.rows, args.width);
    int64_t head = 0;
    for (; head + kHeadsAtOnce <= args.heads; head += kHeadsAtOnce)
      for_each_block(args.width, SumBlock<L, T, kHeadsAtOnce>{args, node, head});
    for (; head < args.heads; ++head)
      for_each_block(args.width, SumBlock<L, T, 1>{args, node, head});
  }
}

// Columns of the sum of a source.
template <typename L, typename T>
struct PullBlock {
  const HeadArgs<T>& args;
  int64_t node;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    auto sum = L::fill(0);
    const EdgeLists& edges = args.edges;
    for (int64_t i = edges.offsets[node]; i < edges.offsets[node + 1]; ++i) {
      const T* weights = args.weights + edges.position(i) * args.heads;
      const T* wide = args.wide + edges.ends[i] * args.heads * args.width + column;
      for (int64_t h = 0; h < args.heads; ++h)
        sum =
            L::add(sum, L::mul(L::fill(weights[h]), load<L, kWhole>(wide + h * args.width, count)));
    }
    store<L, kWhole>(args.out + node * args.width + column, count, sum);
  }
};

template <typename L, typename T>
void head_pull(const HeadArgs<T>& args, int64_t begin, int64_t end) {
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end) request_rows(args.edges, node + 1, args.wide, args.heads * args.width);
    for_each_block(args.width, PullBlock<L, T>{args, node});
  }
}

template <typename L, typename T, int kHeads>
struct DotBlock {
  const T* row;
  const T* wide;
  int64_t width;
  typename L::Values* parts;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    const auto values = load<L, kWhole>(row + column, count);
    for (int h = 0; h < kHeads; ++h)
      parts[h] =
          L::add(parts[h], L::mul(load<L, kWhole>(wide + h * width + column, count), values));
  }
};

template <typename L, typename T, int kHeads>
inline void dot_heads(const T* row, const T* wide, int64_t width, T* out) {
  typename L::Values parts[kHeads];
  for (int h = 0; h < kHeads; ++h)
    parts[h] = L::fill(0);
  for_each_block(width, DotBlock<L, T, kHeads>{row, wide, width, parts});
  for (int h = 0; h < kHeads; ++h)
    out[h] = L::sum(parts[h]);
}

template <typename L, typename T>
void head_dots(const HeadArgs<T>& args, int64_t begin, int64_t end) {
  const EdgeLists& edges = args.edges;
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end) request_rows(edges, node + 1, args.rows, args.width);
    const T* wide = args.wide + node * args.heads * args.width;
    for (int64_t e = edges.offsets[node]; e < edges.offsets[node + 1]; ++e) {
      const T* row = args.rows + edges.ends[e] * args.width;
      T* out = args.out + e * args.heads;
      int64_t h = 0;
      for (; h + kHeadsAtOnce <= args.heads; h += kHeadsAtOnce)
        dot_heads<L, T, kHeadsAtOnce>(row, wide + h * args.width, args.width, out + h);
      for (; h < args.heads; ++h)
        dot_heads<L, T, 1>(row, wide + h * args.width, args.width, out + h);
    }
  }
}

// What leaky_relu is applied to, of columns from `at` on: offsets in rows, heads included.
template <typename L, bool kWhole, typename T>
inline typename L::Values gatv2_input(const Gatv2Args<T>& args,
                                      const T* source,
                                      const T* destination,
                                      int64_t edge,
                                      int64_t at,
                                      int64_t count) {
  const auto ends =
      L::add(load<L, kWhole>(source + at, count), load<L, kWhole>(destination + at, count));
  if (args.edge == nullptr) return ends;
  return L::add(ends, load<L, kWhole>(args.edge + edge * args.heads * args.width + at, count));
}

template <typename L, typename T>
inline typename L::Values leaky(typename L::Values input, T slope) {
  return L::if_positive(input, input, L::mul(L::fill(slope), input));
}

template <typename L, typename T>
struct ScoreBlock {
  const Gatv2Args<T>& args;
  const T* source;
  const T* destination;
  int64_t edge, head;
  typename L::Values* parts;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    const int64_t at = head * args.width + column;
    const auto input = gatv2_input<L, kWhole>(args, source, destination, edge, at, count);
    *parts =
        L::add(*parts, L::mul(load<L, kWhole>(args.att + at, count), leaky<L>(input, args.slope)));
  }
};

template <typename L, typename T>
void gatv2_scores(const Gatv2Args<T>& args, int64_t begin, int64_t end) {
  const EdgeLists& edges = args.edges;
  const int64_t row = args.heads * args.width;
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end) request_rows(edges, node + 1, args.source, row);
    const T* destination = args.destination + node * row;
    for (int64_t e = edges.offsets[node]; e < edges.offsets[node + 1]; ++e) {
      const T* source = args.source + edges.ends[e] * row;
      for (int64_t h = 0; h < args.heads; ++h) {
        auto parts = L::fill(0);
        for_each_block(args.width, ScoreBlock<L, T>{args, source, destination, e, h, &parts});
        args.out[e * args.heads + h] = L::sum(parts);
      }
    }
  }
}

// The gradient of gatv2_input.
template <typename L, typename T>
inline typename L::Values input_gradient(typename L::Values input,
                                         typename L::Values att,
                                         T grad_score,
                                         T slope) {
  const auto grad = L::mul(L::fill(grad_score), att);
  return L::if_positive(input, grad, L::mul(L::fill(slope), grad));
}

// Of columns of a head of a destination.
template <typename L, typename T>
struct PushBlock {
  const Gatv2Args<T>& args;
  int64_t node, head;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    const EdgeLists& edges = args.edges;
    const int64_t row = args.heads * args.width, at = head * args.width + column;
    const auto att = load<L, kWhole>(args.att + at, count);
    auto sum = L::fill(0), att_sum = L::fill(0);
    for (int64_t e = edges.offsets[node]; e < edges.offsets[node + 1]; ++e) {
      const auto input = gatv2_input<L, kWhole>(args, args.source + edges.ends[e] * row,
                                                args.destination + node * row, e, at, count);
      const T grad = args.grad_scores[e * args.heads + head];
      const auto step = input_gradient<L>(input, att, grad, args.slope);
      sum = L::add(sum, step);
      att_sum = L::add(att_sum, L::mul(L::fill(grad), leaky<L>(input, args.slope)));
      if (args.grad_edge != nullptr) store<L, kWhole>(args.grad_edge + e * row + at, count, step);
    }
    store<L, kWhole>(args.out + node * row + at, count, sum);
    T* grad_att = args.grad_att + at;
    store<L, kWhole>(grad_att, count, L::add(load<L, kWhole>(grad_att, count), att_sum));
  }
};

template <typename L, typename T>
void push_scores(const Gatv2Args<T>& args, int64_t begin, int64_t end) {
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end) request_rows(args.edges, node + 1, args.source, args.heads * args.width);
    for (int64_t h = 0; h < args.heads; ++h)
      for_each_block(args.width, PushBlock<L, T>{args, node, h});
  }
}

// Of columns of a head of a source.
template <typename L, typename T>
struct PullScoreBlock {
  const Gatv2Args<T>& args;
  int64_t node, head;

  template <bool kWhole>
  void run(int64_t column, int64_t count) const {
    const EdgeLists& edges = args.edges;
    const int64_t row = args.heads * args.width, at = head * args.width + column;
    const auto att = load<L, kWhole>(args.att + at, count);
    auto sum = L::fill(0);
    for (int64_t i = edges.offsets[node]; i < edges.offsets[node + 1]; ++i) {
      const int64_t e = edges.position(i);
      const auto input = gatv2_input<L, kWhole>(
          args, args.source + node * row, args.destination + edges.ends[i] * row, e, at, count);
      const T grad = args.grad_scores[e * args.heads + head];
      sum = L::add(sum, input_gradient<L>(input, att, grad, args.slope));
    }
    store<L, kWhole>(args.out + node * row + at, count, sum);
  }
};

template <typename L, typename T>
void pull_scores(const Gatv2Args<T>& args, int64_t begin, int64_t end) {
  for (int64_t node = begin; node < end; ++node) {
    if (node + 1 < end)
      request_rows(args.edges, node + 1, args.destination, args.heads * args.width);
    for (int64_t h = 0; h < args.heads; ++h)
      for_each_block(args.width, PullScoreBlock<L, T>{args, node, h});
  }
}

template <typename L, typename T>
AttentionKernels<T> attention_lanes() {
  return {exp_values<L, T>,   head_sums<L, T>,   head_pull<L, T>,  head_dots<L, T>,
          gatv2_scores<L, T>, push_scores<L, T>, pull_scores<L, T>};
}

}  // namespace
}  // namespace ramet
