// NamedRows: the ids and the rows of lists in device memory, sorted by row, for the kernels that
// write them (kernels/cuda_named_rows.h). Ids of the host are sorted by processors, as for tables
// on the host.
//
// Work is given to the device's default stream. Rows of lists may lie on the host or on the device;
// those on the device must be complete. Lives until the stream has finished.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda_named_rows.h"
#include "ramet/array.h"
#include "ramet/ownership.h"
#include "ramet/row_list.h"
#include "ramet/table.h"

namespace ramet {

class NamedRows {
 public:
  // kOutOfRange for an id outside `num_rows`, before anything is copied. Rows outside `own` are
  // left out.
  NamedRows(
      std::span<const RowList> lists, int64_t num_rows, NodeRange own, int device, int threads);
  // Lists of rows in a table's `form`, or of float32 if the table's dtype is narrow.
  // kInvalidArgument for others.
  NamedRows(const SortedLists& lists, const RowForm& form, int device);

  [[nodiscard]] const CudaNamedRows& view() const { return view_; }

 private:
  // Complete when it returns: the vectors that are copied may lie in pages that an array beside
  // them has locked, which a stream would read when they are gone.
  void upload(const void* from, int64_t bytes, const void** to);
  template <typename Values, typename T>
  void upload(const Values& values, T** to);

  int device_;
  std::vector<std::shared_ptr<void>> kept_;
  CudaNamedRows view_{};
};

}  // namespace ramet
