// The kernel of aggregate.h over vectors of elements.
//
// The sums of up to eight vectors of a destination stay in registers, while a pass over its
// edges adds those columns of their rows; then come the next columns. So a row is read once, and
// only results are written. Columns of rows to come are requested as many edges ahead, in the same
// pass, as the memory needs: across the borders of destinations.
//
// `L` wraps the instructions of a file for one type of rows: L::kLanes elements in an L::Vector.
// `Rows` says where the row of an edge lies. In an unnamed namespace, so that each file has its own
// copy, compiled for its instructions; and so nothing here may call what other files share.
#pragma once

#include <cstdint>

#include "aggregate.h"

namespace ramet {
namespace {

constexpr int64_t kLineBytes = 64;

// Requests kBytes from `address` on. A prefetch cannot fault: any address will do. Inlined, since
// GCC takes a function for one without effect that only requests, and drops its calls.
template <int64_t kBytes>
[[gnu::always_inline]] inline void request_bytes(uint64_t address) {
#pragma GCC unroll 16
  for (uint64_t at = 0; at < uint64_t{kBytes}; at += kLineBytes)
    __builtin_prefetch(reinterpret_cast<const void*>(address + at), 0, 3);
}

// How many edges ahead rows are requested: some 8 KiB of them, but no fewer than 4.
inline int64_t edges_ahead(int64_t row_bytes) {
  constexpr int64_t kLeast = 4, kMost = 32, kBytes = 8 << 10;
  const int64_t fit = row_bytes > 0 ? kBytes / row_bytes : kMost;
  return fit < kLeast ? kLeast : fit > kMost ? kMost : fit;
}

// Rows of an array. A cursor is what a pass reads the elements of a row by.
template <typename L>
struct PlainRows {
  static constexpr int64_t kBytes = L::kBytes;  // of an element
  const char* base;
  int64_t row_bytes;

  explicit PlainRows(const AggregateArgs& args)
      : base(static_cast<const char*>(args.rows)), row_bytes(args.width * L::kBytes) {}

  struct Cursor {
    const char* row;
    typename L::Vector at(int64_t column) const { return L::load(row + column * L::kBytes); }
  };
  Cursor cursor(int32_t source) const { return {base + source * row_bytes}; }

  // What request() will need, some time before it.
  [[gnu::always_inline]] void announce(int32_t) const {}

  // Elements from `column` on. Nobody has checked the source yet: the address may wrap around.
  template <int64_t kElements>
  [[gnu::always_inline]] void request(int32_t source, int64_t column) const {
    request_bytes<kElements * kBytes>(reinterpret_cast<uint64_t>(base) +
                                      static_cast<uint64_t>(int64_t{source}) *
                                          static_cast<uint64_t>(row_bytes) +
                                      static_cast<uint64_t>(column * kBytes));
  }
};

// What a vector of a row counts: itself, or itself times the edge's weight.
template <typename L>
struct Unweighted {
  using Vector = typename L::Vector;
  static Vector start() { return L::fill(0); }
  struct Term {
    Vector operator()(Vector sum, Vector value) const { return L::add(sum, value); }
  };
  explicit Unweighted(const AggregateArgs&) {}
  Term of(int64_t, int64_t, int64_t) const { return {}; }
};

template <typename L>
struct Weighted {
  using Vector = typename L::Vector;
  static Vector start() { return L::fill(0); }
  struct Term {
    Vector weight;
    Vector operator()(Vector sum, Vector value) const { return L::add(sum, L::mul(weight, value)); }
  };
  const typename L::Scalar* weights;
  int64_t heads;
  explicit Weighted(const AggregateArgs& args)
      : weights(static_cast<const typename L::Scalar*>(args.weights)), heads(args.heads) {}
  Term of(int64_t edge, int64_t, int64_t head) const {
    return {L::fill(weights[edge * heads + head])};
  }
};

template <typename L>
struct WeightedByRow : Weighted<L> {
  using Term = typename Weighted<L>::Term;
  const typename L::Scalar* row_weights;
  explicit WeightedByRow(const AggregateArgs& args)
      : Weighted<L>(args), row_weights(static_cast<const typename L::Scalar*>(args.row_weights)) {}
  Term of(int64_t, int64_t source, int64_t) const { return {L::fill(row_weights[source])}; }
};

// A maximum that has met a NaN stays one, as torch's.
template <typename L>
struct Greatest {
  using Vector = typename L::Vector;
  static Vector start() { return L::fill(-__builtin_inff()); }
  struct Term {
    Vector operator()(Vector best, Vector value) const { return L::max(best, value); }
  };
  explicit Greatest(const AggregateArgs&) {}
  Term of(int64_t, int64_t, int64_t) const { return {}; }
};

template <typename L>
struct Least {
  using Vector = typename L::Vector;
  static Vector start() { return L::fill(__builtin_inff()); }
  struct Term {
    Vector operator()(Vector best, Vector value) const { return L::min(best, value); }
  };
  explicit Least(const AggregateArgs&) {}
  Term of(int64_t, int64_t, int64_t) const { return {}; }
};

template <typename L, typename Rows, typename Terms>
class Aggregation {
  using Vector = typename L::Vector;
  // Of a pass: half of AVX2's registers. Plain lanes serve heads too narrow for others.
  static constexpr int kMaxVectors = requires { L::kIsPlain; } ? 2 : 8;
  static constexpr int64_t kTargetsAhead = 8;

 public:
  explicit Aggregation(const AggregateArgs& args)
      : args_(args),
        rows_(args),
        terms_(args),
        head_width_(args.width / args.heads),
        ahead_(edges_ahead(args.width * Rows::kBytes)) {}

  bool run(int64_t begin, int64_t end) const {
    bool is_good = true;
    for (int64_t d = begin; d < end && is_good; ++d) {
      if (args_.targets != nullptr) request_target(d + kTargetsAhead < end ? d + kTargetsAhead : d);
      const Destination to{args_.indptr[d], args_.indptr[d + 1], out_row(d)};
      is_good = to.first >= 0 && to.first <= to.last && to.last <= args_.num_edges;
      for (int64_t head = 0; head < args_.heads && is_good; ++head)
        is_good = reduce(to, head);
    }
    if (args_.streamed) L::fence();
    return is_good;
  }

 private:
  struct Destination {
    int64_t first, last;  // edges
    char* out;
  };

  char* out_row(int64_t d) const {
    const int64_t row = args_.targets == nullptr ? d : args_.targets[d];
    return static_cast<char*>(args_.out) + row * args_.width * L::kBytes;
  }

  void request_target(int64_t d) const {
    const char* const row = out_row(d);
    for (int64_t at = 0; at < args_.width * L::kBytes; at += kLineBytes)
      __builtin_prefetch(row + at, 1, 3);
  }

  bool reduce(const Destination& to, int64_t head) const {
    int64_t column = head * head_width_;
    const int64_t end = column + head_width_;
    for (; column + kMaxVectors * L::kLanes <= end; column += kMaxVectors * L::kLanes) {
      if (!pass<kMaxVectors>(to, column, head)) return false;
    }
    return reduce_rest<kMaxVectors>(to, column, head);
  }

  // The columns from `column` on, which kVectors cover. The last pass ends with the head, and so
  // may compute again what the one before has, unless results go on from `out`: vectors divide such
  // a head.
  template <int kVectors>
  bool reduce_rest(const Destination& to, int64_t column, int64_t head) const {
    const int64_t begin = head * head_width_, end = begin + head_width_;
    if (column == end) return true;
    if constexpr (kVectors > 1) {
      constexpr int kHalf = kVectors / 2;
      if (column + kHalf * L::kLanes >= end) return reduce_rest<kHalf>(to, column, head);
      if (end - kVectors * L::kLanes < begin || args_.targets != nullptr)
        return pass<kHalf>(to, column, head) &&
               reduce_rest<kHalf>(to, column + kHalf * L::kLanes, head);
    }
    return pass<kVectors>(to, end - kVectors * L::kLanes, head);
  }

  // Columns [column, column + kVectors * L::kLanes).
  template <int kVectors>
  bool pass(const Destination& to, int64_t column, int64_t head) const {
    Vector result[kVectors];
    const bool is_empty = to.first == to.last;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      result[v] = args_.targets != nullptr ? L::load(to.out + (column + v * L::kLanes) * L::kBytes)
                  : is_empty               ? L::fill(0)
                                           : Terms::start();
    for (int64_t e = to.first; e < to.last; ++e) {
      rows_.announce(args_.indices[later(e, 2 * ahead_)]);
      rows_.template request<kVectors * L::kLanes>(args_.indices[later(e, ahead_)], column);
      const int32_t source = args_.indices[e];
      if (static_cast<uint64_t>(int64_t{source}) >= static_cast<uint64_t>(args_.num_rows))
        return false;
      const auto row = rows_.cursor(source);
      const auto term = terms_.of(e, source, head);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = term(result[v], row.at(column + v * L::kLanes));
    }
    if (args_.reduction == Reduction::kMean && !is_empty) {
      const Vector count = L::fill(static_cast<typename L::Scalar>(to.last - to.first));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = L::div(result[v], count);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      put(to.out + (column + v * L::kLanes) * L::kBytes, result[v]);
    return true;
  }

  int64_t later(int64_t edge, int64_t edges) const {
    return edge + edges < args_.num_edges ? edge + edges : args_.num_edges - 1;
  }

  void put(char* at, Vector value) const {
    if (args_.streamed)
      L::stream(at, value);
    else
      L::store(at, value);
  }

  const AggregateArgs args_;  // a copy, which no store of a row can be to
  const Rows rows_;
  const Terms terms_;
  const int64_t head_width_, ahead_;
};

template <typename L, typename Rows, typename Terms>
bool run_aggregation(const AggregateArgs& args, int64_t begin, int64_t end) {
  return Aggregation<L, Rows, Terms>(args).run(begin, end);
}

template <typename L, typename Rows>
bool aggregate_rows(const AggregateArgs& args, int64_t begin, int64_t end) {
  if (args.reduction == Reduction::kMax)
    return run_aggregation<L, Rows, Greatest<L>>(args, begin, end);
  if (args.reduction == Reduction::kMin)
    return run_aggregation<L, Rows, Least<L>>(args, begin, end);
  if (args.weights != nullptr) return run_aggregation<L, Rows, Weighted<L>>(args, begin, end);
  return run_aggregation<L, Rows, Unweighted<L>>(args, begin, end);
}

template <typename L>
bool aggregate_plain(const AggregateArgs& args, int64_t begin, int64_t end) {
  if (args.row_weights != nullptr)
    return run_aggregation<L, PlainRows<L>, WeightedByRow<L>>(args, begin, end);
  return aggregate_rows<L, PlainRows<L>>(args, begin, end);
}

// What `kernels`, called with the lanes of a type of rows, gives for that type.
template <typename Lanes, typename Kernels>
auto of_lanes(RowType type, Kernels kernels) {
  switch (type) {
    case RowType::kFloat32:
      return kernels(typename Lanes::Float32());
    case RowType::kFloat64:
      return kernels(typename Lanes::Float64());
    case RowType::kBFloat16:
      return kernels(typename Lanes::BFloat16());
    case RowType::kFloat16:
      return kernels(typename Lanes::Float16());
  }
  return decltype(kernels(typename Lanes::Float32())){};
}

template <typename Lanes>
AggregateKernels aggregate_kernels_of(RowType type) {
  return of_lanes<Lanes>(
      type, []<typename L>(L) -> AggregateKernels { return {L::kLanes, aggregate_plain<L>}; });
}

}  // namespace
}  // namespace ramet
