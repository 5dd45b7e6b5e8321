// BufferPool: recycled memory for the arrays of batches. A fresh 256 MB output costs a page fault
// per 4 KiB, more than the gather that fills it; a recycled one costs none. An array may get a
// buffer of up to twice its size, so that batches of different sizes share buffers.
//
// allocate() returns shared ownership. The bytes return to the pool when the last copy of the
// pointer is destroyed, on any thread, also after the pool itself. Used and idle bytes together
// stay within 5/4 of the peak use. Thread-safe. A forked child starts with an empty pool; the
// parent's buffers stay readable there and are unmapped when they die.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ramet/array.h"

namespace ramet {

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  [[nodiscard]] static std::shared_ptr<BufferPool> create();
  // The pool shared by the whole process; it keeps at most 1 GiB idle.
  [[nodiscard]] static const std::shared_ptr<BufferPool>& shared();
  virtual ~BufferPool() = default;

  // At least `bytes` bytes, aligned to 64 bytes, from 2 MiB on to 2 MiB (for huge pages). Contents
  // undefined. Throws kNoSpace.
  [[nodiscard]] virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;

  // Where the buffers are.
  [[nodiscard]] virtual int device() const { return kHost; }
  // Bytes handed out now, and bytes idle in the pool.
  [[nodiscard]] virtual int64_t bytes_in_use() const = 0;
  [[nodiscard]] virtual int64_t bytes_idle() const = 0;

  // An Array of the given dtype and shape, owned by a pooled buffer.
  [[nodiscard]] Array allocate_array(DType dtype, std::vector<int64_t> shape);
};

// A copy of `array` in host memory that it owns, from `pool` if provided.
[[nodiscard]] Array copy(const Array& array);
[[nodiscard]] Array copy(const Array& array, BufferPool& pool);

}  // namespace ramet
