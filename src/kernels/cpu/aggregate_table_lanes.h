// The kernel of aggregate.h over rows that lie scattered in a table, decoded on the way.
//
// `L` wraps the instructions for the results, `In` those for the stored elements: In::load() gives
// an L::Vector of them. In an unnamed namespace: see aggregate_lanes.h.
#pragma once

#include <cstdint>
#include <utility>

#include "aggregate.h"
#include "aggregate_lanes.h"

namespace ramet {
namespace {

// What the elements of a row are multiplied by: nothing, the scale of the row, or of the column.
template <typename L>
struct Unscaled {
  using Vector = typename L::Vector;
  explicit Unscaled(const float*) {}
  Unscaled of(int64_t) const { return *this; }
  Vector operator()(Vector values, int64_t) const { return values; }
  [[gnu::always_inline]] void request(int64_t) const {}
};

template <typename L>
struct ScaledByRow {
  using Vector = typename L::Vector;
  struct OfRow {
    Vector scale;
    Vector operator()(Vector values, int64_t) const { return L::mul(values, scale); }
  };
  const float* scales;
  explicit ScaledByRow(const float* its_scales) : scales(its_scales) {}
  OfRow of(int64_t id) const { return {L::fill(scales[id])}; }
  [[gnu::always_inline]] void request(int64_t id) const { __builtin_prefetch(scales + id, 0, 3); }
};

template <typename L>
struct ScaledByColumn {
  using Vector = typename L::Vector;
  const float* scales;
  explicit ScaledByColumn(const float* its_scales) : scales(its_scales) {}
  ScaledByColumn of(int64_t) const { return *this; }
  Vector operator()(Vector values, int64_t column) const {
    return L::mul(values, L::load(reinterpret_cast<const char*>(scales + column)));
  }
  [[gnu::always_inline]] void request(int64_t) const {}
};

template <typename L, typename In, typename Scaling>
class TableRows {
  static_assert(L::kLanes == In::kLanes);

 public:
  static constexpr int64_t kBytes = In::kBytes;

  explicit TableRows(const AggregateArgs& args)
      : base_(static_cast<const char*>(args.rows)),
        row_bytes_(args.width * In::kBytes),
        ids_(args.ids),
        num_ids_(args.num_rows),
        scaling_(args.scale) {}

  struct Cursor {
    const char* row;
    decltype(std::declval<const Scaling&>().of(0)) scaled;
    typename L::Vector at(int64_t column) const {
      return scaled(In::load(row + column * In::kBytes), column);
    }
  };
  Cursor cursor(int32_t source) const {
    const int64_t id = ids_[source];
    return {base_ + id * row_bytes_, scaling_.of(id)};
  }

  // The id lies at random, too. Any address will do for a prefetch.
  [[gnu::always_inline]] void announce(int32_t source) const {
    request_bytes<sizeof(int64_t)>(reinterpret_cast<uint64_t>(ids_) +
                                   static_cast<uint64_t>(int64_t{source}) * sizeof(int64_t));
  }

  // Nobody has checked the source yet; ids have been. A short row is requested at once.
  template <int64_t kElements>
  [[gnu::always_inline]] void request(int32_t source, int64_t column) const {
    constexpr int64_t kShort = 512;
    if (static_cast<uint64_t>(int64_t{source}) >= static_cast<uint64_t>(num_ids_)) return;
    if (row_bytes_ <= kShort && column > 0) return;
    const int64_t id = ids_[source];
    const auto row = reinterpret_cast<uint64_t>(base_ + id * row_bytes_);
    if (row_bytes_ > kShort)
      request_bytes<kElements * kBytes>(row + static_cast<uint64_t>(column * kBytes));
    else
      for (uint64_t at = 0; at < static_cast<uint64_t>(row_bytes_); at += kLineBytes)
        request_bytes<1>(row + at);
    scaling_.request(id);
  }

 private:
  const char* base_;
  int64_t row_bytes_;
  const int64_t* ids_;
  int64_t num_ids_;
  Scaling scaling_;
};

// Of lanes for each type of rows, as many of each.
template <typename Lanes>
AggregateKernels table_kernels_of(TableRowType type) {
  using Float32 = typename Lanes::Float32;
  using BFloat16 = typename Lanes::BFloat16;
  using Float16 = typename Lanes::Float16;
  using Int8 = typename Lanes::Int8;
  using Plainly = Unscaled<Float32>;
  const auto of = [](AggregateKernel kernel) { return AggregateKernels{Float32::kLanes, kernel}; };
  switch (type) {
    case TableRowType::kFloat32:
      return of(aggregate_rows<Float32, TableRows<Float32, Float32, Plainly>>);
    case TableRowType::kBFloat16:
      return of(aggregate_rows<BFloat16, TableRows<BFloat16, BFloat16, Plainly>>);
    case TableRowType::kFloat16:
      return of(aggregate_rows<Float16, TableRows<Float16, Float16, Plainly>>);
    case TableRowType::kDecodedBFloat16:
      return of(aggregate_rows<Float32, TableRows<Float32, BFloat16, Plainly>>);
    case TableRowType::kDecodedFloat16:
      return of(aggregate_rows<Float32, TableRows<Float32, Float16, Plainly>>);
    case TableRowType::kInt8ScaledByRow:
      return of(aggregate_rows<Float32, TableRows<Float32, Int8, ScaledByRow<Float32>>>);
    case TableRowType::kInt8ScaledByColumn:
      return of(aggregate_rows<Float32, TableRows<Float32, Int8, ScaledByColumn<Float32>>>);
  }
  return {};
}

}  // namespace
}  // namespace ramet
