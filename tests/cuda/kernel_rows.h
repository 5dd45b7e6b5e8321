// Rows for tests of the sampling kernels alone.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"

namespace ramet {

inline const CudaSamplingKernels& kernels() {
  return require_cuda().sampling;
}

// Rows that begin beyond 2^33, and their offsets if `count` says how much a row counts for.
struct FarRows {
  template <typename Count>
  FarRows(const std::vector<int64_t>& degrees, Count count) : offsets{0} {
    for (const int64_t degree : degrees) {
      rows.push_back({rows.empty() ? int64_t{1} << 33 : rows.back().begin + 1'000'000, degree});
      nodes.push_back(int64_t(rows.size()) * 3'000'000'000);
      offsets.push_back(offsets.back() + count(degree));
    }
  }
  std::vector<CudaRow> rows;
  std::vector<int64_t> nodes, offsets;
};

// Memory for a scan of `count` numbers.
struct Scan : DeviceBytes {
  explicit Scan(int64_t count) : DeviceBytes(size_t(kernels().scan_bytes(0, count))) {}
  [[nodiscard]] CudaScratch view() const { return {get(), int64_t(size())}; }
};

// The rows that blocks of items begin in.
struct FirstRows : DeviceBytes {
  FirstRows(const DeviceBytes& offset, const std::vector<int64_t>& offsets)
      : DeviceBytes(size_t(cuda_first_rows(offsets.back())) * sizeof(int32_t)) {
    kernels().first_rows(0,
                         {.offset = offset.as<int64_t>(),
                          .num_dst = int64_t(offsets.size()) - 1,
                          .num_items = offsets.back(),
                          .first_row = as<int32_t>()},
                         nullptr);
  }
};

struct RowsOnDevice {
  explicit RowsOnDevice(const FarRows& rows)
      : nodes(rows.nodes),
        row(rows.rows),
        offset(rows.offsets),
        first_row(offset, rows.offsets),
        view{nodes.as<int64_t>(), row.as<CudaRow>(), offset.as<int64_t>(), first_row.as<int32_t>(),
             int64_t(rows.rows.size())} {}
  DeviceBytes nodes, row, offset;
  FirstRows first_row;
  CudaRows view;
};

inline const std::vector<int64_t> kDegrees{40, 0,  0,   7,   32,   33,   1, 5000,
                                           64, 65, 257, 300, 1025, 1100, 0};

}  // namespace ramet
