// The kernel of aggregate.h over vectors of elements.
//
// The sums of up to kMaxVectors vectors of a destination stay in registers, while a pass over its
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

constexpr int kMaxVectors = 8;  // of a pass: half of AVX2's registers
constexpr int64_t kLineBytes = 64;

// Rows of an array. A cursor is what a pass reads the elements of a row by.
template <typename L>
struct PlainRows {
  const char* base;
  int64_t row_bytes;

  explicit PlainRows(const AggregateArgs& args)
      : base(static_cast<const char*>(args.rows)), row_bytes(args.width * L::kBytes) {}

  struct Cursor {
    const char* row;
    typename L::Vector at(int64_t column) const { return L::load(row + column * L::kBytes); }
  };
  Cursor cursor(int32_t source) const { return {base + source * row_bytes}; }

  // Nobody has checked the source yet, but a prefetch cannot fault: any address will do, also one
  // that wraps around.
  uint64_t address(int32_t source) const {
    return reinterpret_cast<uint64_t>(base) +
           static_cast<uint64_t>(int64_t{source}) * static_cast<uint64_t>(row_bytes);
  }
};

// What a vector of a row counts: itself, or itself times the edge's weight.
template <typename L>
struct Unweighted {
  static constexpr bool kIsSum = true;
  using Vector = typename L::Vector;
  struct Term {
    Vector operator()(Vector sum, Vector value) const { return L::add(sum, value); }
  };
  explicit Unweighted(const AggregateArgs&) {}
  Term of(int64_t, int64_t) const { return {}; }
};

template <typename L>
struct Weighted {
  static constexpr bool kIsSum = true;
  using Vector = typename L::Vector;
  struct Term {
    Vector weight;
    Vector operator()(Vector sum, Vector value) const { return L::add(sum, L::mul(weight, value)); }
  };
  const typename L::Scalar* weights;
  int64_t heads;
  explicit Weighted(const AggregateArgs& args)
      : weights(static_cast<const typename L::Scalar*>(args.weights)), heads(args.heads) {}
  Term of(int64_t edge, int64_t head) const { return {L::fill(weights[edge * heads + head])}; }
};

// A maximum that has met a NaN stays one, as torch's.
template <typename L>
struct Greatest {
  static constexpr bool kIsSum = false;
  using Vector = typename L::Vector;
  struct Term {
    Vector operator()(Vector best, Vector value) const { return L::max(best, value); }
  };
  explicit Greatest(const AggregateArgs&) {}
  Term of(int64_t, int64_t) const { return {}; }
};

template <typename L>
struct Least {
  static constexpr bool kIsSum = false;
  using Vector = typename L::Vector;
  struct Term {
    Vector operator()(Vector best, Vector value) const { return L::min(best, value); }
  };
  explicit Least(const AggregateArgs&) {}
  Term of(int64_t, int64_t) const { return {}; }
};

template <typename L, typename Rows, typename Terms, bool kStreamed>
class Aggregation {
  using Vector = typename L::Vector;

 public:
  explicit Aggregation(const AggregateArgs& args)
      : args_(args), rows_(args), terms_(args), ahead_(edges_ahead(args.width * L::kBytes)) {}

  bool run(int64_t begin, int64_t end) {
    bool good = true;
    for (int64_t d = begin; d < end && good; ++d) {
      first_ = args_.indptr[d], last_ = args_.indptr[d + 1];
      good = is_good();
      if (good) reduce(static_cast<char*>(args_.out) + d * args_.width * L::kBytes);
    }
    if constexpr (kStreamed) L::fence();
    return good;
  }

 private:
  // Some 8 KiB, but no fewer than 4 rows.
  static int64_t edges_ahead(int64_t row_bytes) {
    constexpr int64_t kLeast = 4, kMost = 32, kBytes = 8 << 10;
    const int64_t fit = row_bytes > 0 ? kBytes / row_bytes : kMost;
    return fit < kLeast ? kLeast : fit > kMost ? kMost : fit;
  }

  bool is_good() const {
    if (first_ < 0 || last_ < first_ || last_ > args_.num_edges) return false;
    bool is_bad = false;
    for (int64_t e = first_; e < last_; ++e)
      is_bad |=
          static_cast<uint64_t>(int64_t{args_.indices[e]}) >= static_cast<uint64_t>(args_.num_rows);
    return !is_bad;
  }

  void reduce(char* out) {
    const int64_t head_width = args_.width / args_.heads;
    for (int64_t head = 0; head < args_.heads; ++head) {
      const int64_t begin = head * head_width, end = begin + head_width;
      int64_t c = begin;
      for (; c + kMaxVectors * L::kLanes <= end; c += kMaxVectors * L::kLanes)
        pass<kMaxVectors>(out, c, head);
      if (c + 4 * L::kLanes <= end) pass<4>(out, c, head), c += 4 * L::kLanes;
      if (c + 2 * L::kLanes <= end) pass<2>(out, c, head), c += 2 * L::kLanes;
      if (c + L::kLanes <= end) pass<1>(out, c, head), c += L::kLanes;
      // The last vector ends with the head, and so may compute again what the one before has.
      if (c < end) pass<1>(out, end - L::kLanes, head);
    }
  }

  // Columns [column, column + kVectors * L::kLanes).
  template <int kVectors>
  void pass(char* out, int64_t column, int64_t head) const {
    Vector result[kVectors];
    int64_t e = first_;
    if (Terms::kIsSum || first_ == last_) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = L::fill(0);
    } else {
      const auto row = rows_.cursor(args_.indices[e]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = row.at(column + v * L::kLanes);
      ++e;
    }
    for (; e < last_; ++e) {
      request<kVectors>(e, column);
      const auto row = rows_.cursor(args_.indices[e]);
      const auto term = terms_.of(e, head);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = term(result[v], row.at(column + v * L::kLanes));
    }
    if (args_.reduction == Reduction::kMean && first_ != last_) {
      const Vector count = L::fill(static_cast<typename L::Scalar>(last_ - first_));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        result[v] = L::div(result[v], count);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      put(out + (column + v * L::kLanes) * L::kBytes, result[v]);
  }

  static void put(char* to, Vector value) {
    if constexpr (kStreamed)
      L::stream(to, value);
    else
      L::store(to, value);
  }

  template <int kVectors>
  void request(int64_t e, int64_t column) const {
    const int64_t coming = e + ahead_ < args_.num_edges ? e + ahead_ : args_.num_edges - 1;
    const uint64_t from =
        rows_.address(args_.indices[coming]) + static_cast<uint64_t>(column * L::kBytes);
    constexpr int64_t kBytes = kVectors * L::kLanes * L::kBytes;
#pragma GCC unroll 16
    for (int64_t at = 0; at < kBytes; at += kLineBytes)
      __builtin_prefetch(reinterpret_cast<const void*>(from + static_cast<uint64_t>(at)), 0, 3);
  }

  const AggregateArgs args_;  // a copy, which no store of a row can be to
  const Rows rows_;
  const Terms terms_;
  const int64_t ahead_;
  int64_t first_ = 0, last_ = 0;  // edges of the destination
};

template <typename L, typename Rows, typename Terms>
bool run_aggregation(const AggregateArgs& args, int64_t begin, int64_t end) {
  if (args.streamed) return Aggregation<L, Rows, Terms, true>(args).run(begin, end);
  return Aggregation<L, Rows, Terms, false>(args).run(begin, end);
}

template <typename L>
bool aggregate_plain(const AggregateArgs& args, int64_t begin, int64_t end) {
  using Rows = PlainRows<L>;
  if (args.reduction == Reduction::kMax)
    return run_aggregation<L, Rows, Greatest<L>>(args, begin, end);
  if (args.reduction == Reduction::kMin)
    return run_aggregation<L, Rows, Least<L>>(args, begin, end);
  if (args.weights != nullptr) return run_aggregation<L, Rows, Weighted<L>>(args, begin, end);
  return run_aggregation<L, Rows, Unweighted<L>>(args, begin, end);
}

template <typename L>
AggregateKernels aggregate_kernels_of() {
  return {L::kLanes, aggregate_plain<L>};
}

}  // namespace
}  // namespace ramet
