// Rows are grouped first (base/row_groups.h), so that threads never write the same row, and the
// values of a row are taken in the order in which they were given.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/listed_rows.h"
#include "base/narrow.h"
#include "base/row_groups.h"
#include "ramet/error.h"
#include "ramet/table_rows.h"
#include "tables/device/staged.h"

namespace ramet {
namespace {

void check_fit(const Array& table, std::span<const RowList> lists, NodeRange own) {
  if (!table.writable) throw_invalid("the table is read-only");
  if (own.begin < 0 || own.begin > own.end || own.end > table.rows())
    throw_invalid("rows [", own.begin, ", ", own.end, ") of ", table.rows());
  for (const auto& [ids, rows] : lists) {
    const bool fits_dtype =
        rows.dtype == table.dtype || (rows.dtype == DType::kFloat32 && is_narrow(table.dtype));
    const bool fits = fits_dtype && rows.shape.size() == table.shape.size() &&
                      rows.rows() == std::ssize(ids) &&
                      (rows.device == kHost || rows.device == table.device) &&
                      std::equal(rows.shape.begin() + 1, rows.shape.end(), table.shape.begin() + 1);
    if (!fits)
      throw_invalid("rows are ", rows.describe(), ", which do not fit ", ids.size(), " ids and ",
                    table.describe());
  }
}

// The values that are named for one row, in order.
class RowUpdates {
 public:
  RowUpdates(const ListedRows& rows, const RowBucket& bucket, size_t first, size_t last)
      : rows_(rows), bucket_(bucket), first_(first), last_(last) {}

  [[nodiscard]] size_t size() const { return last_ - first_; }
  ListedRow operator[](size_t i) const { return rows_[bucket_.position(first_ + i)]; }

 private:
  const ListedRows& rows_;
  const RowBucket& bucket_;
  size_t first_, last_;
};

// Calls body(pointer to a row of the table, RowUpdates) for every own row that is named.
template <typename Body>
void for_each_row(
    const Array& table, std::span<const RowList> lists, NodeRange own, int threads, Body body) {
  RowGroups groups(lists, table.rows(), own.begin, own.end);
  const ListedRows rows(lists);
  const int64_t row_bytes = table.row_bytes();
  groups.visit(threads, [&](const RowBucket& bucket) {
    for (size_t first = 0, last; first < bucket.entries.size(); first = last) {
      last = bucket.end_of_row(first);
      body(static_cast<char*>(table.data) + bucket.row(first) * row_bytes,
           RowUpdates(rows, bucket, first, last));
    }
  });
}

template <typename T>
void add_values(T* to, const T* values, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    to[i] = static_cast<T>(to[i] + values[i]);
}

template <typename T>
void sum_typed(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  const int64_t width = table.row_bytes() / static_cast<int64_t>(sizeof(T));
  for_each_row(table, lists, own, threads, [&](char* row, const RowUpdates& updates) {
    T* to = reinterpret_cast<T*>(row);
    const auto values = [&](size_t i) { return static_cast<const T*>(updates[i].data); };
    if (updates.size() == 1) return add_values(to, values(0), width);
    std::vector<T> sum(values(0), values(0) + width);
    for (size_t i = 1; i < updates.size(); ++i)
      add_values(sum.data(), values(i), width);
    add_values<T>(to, sum.data(), width);
  });
}

void sum_narrow(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  const int64_t width = table.row_bytes() / item_size(table.dtype);
  for_each_row(table, lists, own, threads, [&](char* row, const RowUpdates& updates) {
    std::vector<float> sum(static_cast<size_t>(width)), value(sum.size());
    const auto widen = [&](size_t i, float* out) {
      widen_row(updates[i].data, width, updates[i].dtype, out);
    };
    widen(0, sum.data());
    for (size_t i = 1; i < updates.size(); ++i) {
      widen(i, value.data());
      add_values(sum.data(), value.data(), width);
    }
    widen_row(row, width, table.dtype, value.data());
    add_values(value.data(), sum.data(), width);
    narrow_row(value.data(), width, table.dtype, row);
  });
}

}  // namespace

void set_rows(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  check_fit(table, lists, own);
  if (table.device != kHost) return set_staged(table, lists, own, threads);
  const int64_t row_bytes = table.row_bytes(), width = row_bytes / item_size(table.dtype);
  for_each_row(table, lists, own, threads, [&](char* row, const RowUpdates& updates) {
    const auto [from, dtype] = updates[updates.size() - 1];
    if (dtype == table.dtype)
      std::memcpy(row, from, static_cast<size_t>(row_bytes));
    else
      narrow_row(static_cast<const float*>(from), width, table.dtype, row);
  });
}

void sum_rows(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  check_fit(table, lists, own);
  if (table.dtype == DType::kBool) throw_invalid("rows of bool cannot be added");
  if (table.device != kHost) return sum_staged(table, lists, own, threads);
  switch (table.dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kUInt8:
      return sum_typed<uint8_t>(table, lists, own, threads);
    case DType::kInt16:
    case DType::kUInt16:
      return sum_typed<uint16_t>(table, lists, own, threads);
    case DType::kInt32:
    case DType::kUInt32:
      return sum_typed<uint32_t>(table, lists, own, threads);
    case DType::kInt64:
    case DType::kUInt64:
      return sum_typed<uint64_t>(table, lists, own, threads);
    case DType::kFloat32:
      return sum_typed<float>(table, lists, own, threads);
    case DType::kFloat64:
      return sum_typed<double>(table, lists, own, threads);
    case DType::kFloat16:
    case DType::kBFloat16:
      return sum_narrow(table, lists, own, threads);
  }
}

}  // namespace ramet
