// Rows are grouped first (base/row_groups.h), so that threads never write the same row, and the
// values of a row are taken in the order in which they were given.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/narrow.h"
#include "base/row_groups.h"
#include "ramet/error.h"
#include "ramet/table_rows.h"

namespace ramet {
namespace {

bool is_narrow(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void check_fit(const Array& table, std::span<const int64_t> ids, const Array& rows) {
  if (!table.writable) throw_invalid("the table is read-only");
  const bool fits_dtype =
      rows.dtype == table.dtype || (rows.dtype == DType::kFloat32 && is_narrow(table.dtype));
  const bool fits = fits_dtype && rows.shape.size() == table.shape.size() &&
                    rows.rows() == std::ssize(ids) &&
                    std::equal(rows.shape.begin() + 1, rows.shape.end(), table.shape.begin() + 1);
  if (!fits)
    throw_invalid("rows are ", rows.describe(), ", which do not fit ", ids.size(), " ids and ",
                  table.describe());
}

// Calls body(row, bucket, first, last) with the places [first, last) of every row that is named.
template <typename Body>
void for_each_row(const Array& table, std::span<const int64_t> ids, int threads, Body body) {
  RowGroups groups(std::span(&ids, 1), table.rows(), 0, table.rows());
  groups.visit(threads, [&](const RowBucket& bucket) {
    for (size_t first = 0, last; first < bucket.places.size(); first = last) {
      last = first + 1;
      while (last < bucket.places.size() && bucket.row(last) == bucket.row(first))
        ++last;
      body(bucket.row(first), bucket, first, last);
    }
  });
}

template <typename T>
void add_values(T* to, const T* values, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    to[i] = static_cast<T>(to[i] + values[i]);
}

template <typename T>
void sum_typed(const Array& table, std::span<const int64_t> ids, const Array& rows, int threads) {
  const int64_t width = table.row_bytes() / static_cast<int64_t>(sizeof(T));
  const auto* values = static_cast<const T*>(rows.data);
  for_each_row(table, ids, threads,
               [&](int64_t row, const RowBucket& bucket, size_t i, size_t last) {
                 T* to = static_cast<T*>(table.data) + row * width;
                 const T* only = values + bucket.position(i) * width;
                 if (last == i + 1) return add_values(to, only, width);
                 std::vector<T> sum(only, only + width);
                 while (++i < last)
                   add_values(sum.data(), values + bucket.position(i) * width, width);
                 add_values<T>(to, sum.data(), width);
               });
}

void sum_narrow(const Array& table, std::span<const int64_t> ids, const Array& rows, int threads) {
  const int64_t width = table.row_bytes() / item_size(table.dtype), row_bytes = rows.row_bytes();
  for_each_row(
      table, ids, threads, [&](int64_t row, const RowBucket& bucket, size_t i, size_t last) {
        std::vector<float> sum(static_cast<size_t>(width)), value(sum.size());
        const auto widen = [&](size_t place, float* out) {
          widen_row(static_cast<const char*>(rows.data) + bucket.position(place) * row_bytes, width,
                    rows.dtype, out);
        };
        widen(i, sum.data());
        while (++i < last) {
          widen(i, value.data());
          add_values(sum.data(), value.data(), width);
        }
        void* to = static_cast<char*>(table.data) + row * table.row_bytes();
        widen_row(to, width, table.dtype, value.data());
        add_values(value.data(), sum.data(), width);
        narrow_row(value.data(), width, table.dtype, to);
      });
}

}  // namespace

void set_rows(const Array& table, std::span<const int64_t> ids, const Array& rows, int threads) {
  check_fit(table, ids, rows);
  const int64_t row_bytes = table.row_bytes(), width = row_bytes / item_size(table.dtype);
  for_each_row(table, ids, threads, [&](int64_t row, const RowBucket& bucket, size_t, size_t last) {
    const void* from =
        static_cast<const char*>(rows.data) + bucket.position(last - 1) * rows.row_bytes();
    void* to = static_cast<char*>(table.data) + row * row_bytes;
    if (rows.dtype == table.dtype)
      std::memcpy(to, from, static_cast<size_t>(row_bytes));
    else
      narrow_row(static_cast<const float*>(from), width, table.dtype, to);
  });
}

void sum_rows(const Array& table, std::span<const int64_t> ids, const Array& rows, int threads) {
  check_fit(table, ids, rows);
  switch (table.dtype) {
    case DType::kBool:
      throw_invalid("rows of bool cannot be added");
    case DType::kInt8:
    case DType::kUInt8:
      return sum_typed<uint8_t>(table, ids, rows, threads);
    case DType::kInt16:
    case DType::kUInt16:
      return sum_typed<uint16_t>(table, ids, rows, threads);
    case DType::kInt32:
    case DType::kUInt32:
      return sum_typed<uint32_t>(table, ids, rows, threads);
    case DType::kInt64:
    case DType::kUInt64:
      return sum_typed<uint64_t>(table, ids, rows, threads);
    case DType::kFloat32:
      return sum_typed<float>(table, ids, rows, threads);
    case DType::kFloat64:
      return sum_typed<double>(table, ids, rows, threads);
    case DType::kFloat16:
    case DType::kBFloat16:
      return sum_narrow(table, ids, rows, threads);
  }
}

}  // namespace ramet
