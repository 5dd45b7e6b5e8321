// DType and Array: contiguous, row-major memory of one element type. Arrays are the only data that
// crosses a layer.
//
// An Array is a cheap value: pointer, dtype, shape and a shared owner that keeps the bytes alive (a
// mapping or a pooled buffer). Without an owner, the caller keeps the bytes alive. Copying an Array
// never copies bytes. The bytes of a store are immutable, so any thread may read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ramet {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat16,
  kBFloat16,  // the upper half of a float32
  kFloat32,
  kFloat64,
};

[[nodiscard]] int64_t item_size(DType dtype);
[[nodiscard]] const char* name(DType dtype);  // "float32", as in numpy

template <typename T>
inline constexpr DType kDTypeOf = [] {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::kInt64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else
    static_assert(sizeof(T) == 0, "no DType for this type");
}();

// The home of bytes: host memory, or the CUDA device with this number.
inline constexpr int kHost = -1;

struct Array {
  void* data = nullptr;
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;         // never empty: scalars have shape {1}
  std::shared_ptr<const void> owner;  // keeps `data` alive; empty when the caller does
  bool writable = false;
  int device = kHost;  // elsewhere `data` is for kernels alone, see cuda.h

  [[nodiscard]] int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
  [[nodiscard]] int64_t row_bytes() const;  // bytes of one row: item size x trailing shape
  [[nodiscard]] int64_t bytes() const { return rows() * row_bytes(); }
  [[nodiscard]] std::string describe() const;  // "float32[2708, 1433]"

  // The elements as T. Unchecked: the caller has looked at dtype.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(data), static_cast<size_t>(bytes() / int64_t(sizeof(T)))};
  }
};

// Calls body with the ids of an int32 or int64 array as a span. Here the id width becomes a
// template argument, once per array and never inside a loop. Unchecked.
template <typename Body>
auto with_ids(const Array& ids, Body&& body) {
  if (ids.dtype == DType::kInt32) return body(ids.as<int32_t>());
  return body(ids.as<int64_t>());
}

// An Array over memory that the caller keeps alive.
template <typename T>
[[nodiscard]] Array borrow(std::span<const T> values) {
  return {const_cast<T*>(values.data()), kDTypeOf<T>, {int64_t(values.size())}, nullptr, false};
}
template <typename T>
[[nodiscard]] Array borrow(const std::vector<T>& values) {
  return borrow(std::span<const T>(values));
}
template <typename T>
Array borrow(const std::vector<T>&& values) = delete;  // it dies first

}  // namespace ramet
