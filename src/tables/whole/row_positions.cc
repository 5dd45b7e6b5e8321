#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "ramet/error.h"
#include "ramet/whole_table.h"

namespace ramet {
namespace {

constexpr int64_t kPiece = 1024;  // ids that are looked up at once: their owners stay in a cache
constexpr int64_t kHugeRows = int64_t{1} << 21, kPageRows = int64_t{1} << 12;
constexpr int64_t kMostAddresses = int64_t{1} << 44;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Calls body(id, owner) for all rows, in the order of ids.
template <typename Body>
void for_each_owner(const Ownership& owners, Body body) {
  std::array<int64_t, kPiece> ids{};
  std::array<uint16_t, kPiece> owner{};
  for (int64_t first = 0; first < owners.num_nodes(); first += kPiece) {
    const auto count = static_cast<size_t>(std::min(kPiece, owners.num_nodes() - first));
    std::iota(ids.begin(), ids.begin() + count, first);
    owners.owners(std::span<const int64_t>(ids.data(), count), owner.data());
    for (size_t i = 0; i < count; ++i)
      body(ids[i], owner[i]);
  }
}

std::vector<int64_t> rows_by_part(const Ownership& owners) {
  std::vector<int64_t> rows(static_cast<size_t>(owners.parts()));
  if (owners.is_ranges()) {
    for (size_t part = 0; part < rows.size(); ++part)
      rows[part] = owners.span_of(static_cast<int64_t>(part)).size();
  } else {
    for_each_owner(owners, [&](int64_t, uint16_t owner) { ++rows[owner]; });
  }
  return rows;
}

bool addresses_fit(int64_t parts, int64_t stride, int64_t row_bytes) {
  return stride <= kMostAddresses / parts / std::max<int64_t>(row_bytes, 1);
}

void check_map(const Array& map, const Ownership& owners, int64_t stride) {
  const DType dtype = map_dtype(owners, stride);
  if (map.dtype == dtype && map.shape == std::vector{owners.num_nodes()}) return;
  throw_invalid("a map of positions is ", map.describe(), ", expected ", name(dtype), "[",
                owners.num_nodes(), "]");
}

bool is_below(int64_t id, int64_t bound) {
  return static_cast<uint64_t>(id) < static_cast<uint64_t>(bound);
}

bool all_below(std::span<const int64_t> ids, int64_t bound) {
  return std::all_of(ids.begin(), ids.end(), [&](int64_t id) { return is_below(id, bound); });
}

template <typename Body>
void with_entries(const Array& map, Body body) {
  if (map.dtype == DType::kInt32) return body(static_cast<int32_t*>(map.data));
  return body(static_cast<int64_t*>(map.data));
}

}  // namespace

RowPositions RowPositions::dense(Ownership ranges) {
  if (!ranges.is_ranges())
    throw_invalid("rows whose positions are their ids have ranges of ids as owners");
  RowPositions result(std::move(ranges));
  result.num_positions_ = result.num_rows();
  return result;
}

RowPositions RowPositions::strided(Ownership owners, int64_t stride, Array map) {
  RowPositions result(std::move(owners));
  result.is_dense_ = false;
  result.rows_of_ = rows_by_part(result.owners_);
  const int64_t most = *std::max_element(result.rows_of_.begin(), result.rows_of_.end());
  if (stride < most || stride > kMostAddresses / result.parts())
    throw_invalid("a stride of ", stride, ", but a part has ", most, " rows");
  result.stride_ = stride;
  result.num_positions_ = stride * result.parts();
  if (result.owners_.is_ranges()) {
    result.set_ranges();
  } else {
    check_map(map, result.owners_, stride);
    result.map_ = std::move(map);
  }
  return result;
}

void RowPositions::set_ranges() {
  const auto size = std::bit_ceil(static_cast<size_t>(parts()));
  for (int64_t part = 0; part < parts(); ++part) {
    const int64_t begin = owners_.span_of(part).begin;
    deltas_.push_back(part * stride_ - begin);
    if (part > 0) begins_.push_back(begin);
  }
  deltas_.resize(size);
  begins_.resize(size - 1, std::numeric_limits<int64_t>::max());
}

RowPositions::Ranges RowPositions::ranges() const {
  return is_dense_ ? Ranges{{}, {0}} : Ranges{begins_, deltas_};
}

NodeRange RowPositions::positions_of(int64_t part) const {
  if (is_dense_) return owners_.span_of(part);
  require_index(part, parts(), "part");
  return {part * stride_, part * stride_ + rows_of_[static_cast<size_t>(part)]};
}

void RowPositions::look_up(std::span<const int64_t> ids, int64_t* positions, int threads) const {
  parallel_for(std::ssize(ids), 64 * kPiece, threads,
               [&](int64_t begin, int64_t end) { look_up(ids, begin, end, positions + begin); });
}

void RowPositions::look_up(std::span<const int64_t> ids,
                           int64_t begin,
                           int64_t end,
                           int64_t* positions) const {
  for (int64_t first = begin; first < end; first += kPiece) {
    const int64_t count = std::min(kPiece, end - first);
    const auto piece = ids.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    if (look_up_piece(piece, positions + (first - begin))) continue;
    const auto outside = std::find_if_not(piece.begin(), piece.end(),
                                          [&](int64_t id) { return is_below(id, num_rows()); });
    throw_error(ErrorCode::kOutOfRange, "ids[", first + (outside - piece.begin()), "] = ", *outside,
                " is outside the ", num_rows(), " rows of table");
  }
}

bool RowPositions::look_up_piece(std::span<const int64_t> ids, int64_t* positions) const {
  constexpr size_t kAhead = 32;
  if (!is_dense_ && owners_.is_ranges()) return look_up_in_ranges(ids, positions);
  if (!all_below(ids, num_rows())) return false;
  if (is_dense_) {
    std::copy(ids.begin(), ids.end(), positions);
    return true;
  }
  with_entries(map_, [&](const auto* entries) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kAhead < ids.size()) __builtin_prefetch(&entries[ids[i + kAhead]]);
      positions[i] = entries[ids[i]];
    }
  });
  return true;
}

// No branch depends on an id.
bool RowPositions::look_up_in_ranges(std::span<const int64_t> ids, int64_t* positions) const {
  const int64_t *begins = begins_.data(), *deltas = deltas_.data(), rows = num_rows();
  const size_t half = deltas_.size() / 2;
  bool all_inside = true;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids[i];
    all_inside &= is_below(id, rows);
    size_t part = 0;
    for (size_t step = half; step > 0; step /= 2)
      part += begins[part + step - 1] <= id ? step : 0;
    // An id far outside may overflow; it is refused below.
    positions[i] =
        static_cast<int64_t>(static_cast<uint64_t>(id) + static_cast<uint64_t>(deltas[part]));
  }
  return all_inside;
}

Array RowPositions::owned(int64_t part) const {
  const NodeRange positions = positions_of(part);
  const auto ids = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(positions.size()));
  if (owners_.is_ranges()) {
    std::iota(ids->begin(), ids->end(), owners_.span_of(part).begin);
  } else {
    auto next = ids->begin();
    for_each_owner(owners_, [&](int64_t id, uint16_t owner) {
      if (owner == part) *next++ = id;
    });
  }
  return {ids->data(), DType::kInt64, {positions.size()}, ids, true};
}

int64_t stride_of(const Ownership& owners, int64_t row_bytes) {
  const auto rows = rows_by_part(owners);
  const int64_t most = *std::max_element(rows.begin(), rows.end());
  const int64_t huge = std::max(round_up(most, kHugeRows), kHugeRows);
  if (addresses_fit(owners.parts(), huge, row_bytes)) return huge;
  return std::max(round_up(most, kPageRows), kPageRows);
}

DType map_dtype(const Ownership& owners, int64_t stride) {
  return stride * owners.parts() <= std::numeric_limits<int32_t>::max() ? DType::kInt32
                                                                        : DType::kInt64;
}

void write_map(const Ownership& owners, int64_t stride, const Array& out) {
  check_map(out, owners, stride);
  if (!out.writable) throw_invalid("the map of positions is read-only");
  std::vector<int64_t> next(static_cast<size_t>(owners.parts()));
  for (size_t part = 0; part < next.size(); ++part)
    next[part] = static_cast<int64_t>(part) * stride;
  with_entries(out, [&](auto* entries) {
    using Position = std::remove_pointer_t<decltype(entries)>;
    for_each_owner(owners, [&](int64_t id, uint16_t owner) {
      entries[id] = static_cast<Position>(next[owner]++);
    });
  });
}

}  // namespace ramet
