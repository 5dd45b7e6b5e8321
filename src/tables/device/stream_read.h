// StreamRead: rows that a stream writes to device memory.
#pragma once

#include "kernels/cuda_backend.h"
#include "ramet/error.h"
#include "tables/row_source.h"

namespace ramet {

class StreamRead final : public RowRead {
 public:
  // `staged`: rows in page-locked memory that the stream copies, if it does.
  // `hits`: int64 [1] in page-locked memory, of the device's cache; an Array of no shape: no cache.
  StreamRead(Array rows, CudaStreamHandle stream, GatheredRows staged = {}, Array hits = {})
      : rows_(std::move(rows)),
        stream_(stream),
        staged_(std::move(staged)),
        hits_(std::move(hits)) {}

  // Page-locked memory must not be reused while the stream copies.
  ~StreamRead() override {
    if (is_complete_) return;
    try {
      wait();
    } catch (const Error&) {
      // A failure of the stream's own work, which is over.
    }
  }

  GatheredRows complete() override {
    wait();
    is_complete_ = true;
    GatheredRows result{std::move(rows_), staged_.cache};
    if (hits_.shape.empty()) return result;
    result.cache.hits = hits_.as<int64_t>()[0];
    result.cache.misses = result.rows.rows() - result.cache.hits;
    return result;
  }

 private:
  void wait() const { require_cuda().runtime.synchronize(rows_.device, stream_); }

  Array rows_;
  CudaStreamHandle stream_;
  GatheredRows staged_;
  Array hits_;
  bool is_complete_ = false;
};

}  // namespace ramet
