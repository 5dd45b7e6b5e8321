// One lane's part of a row that is gathered in units of its own: table, rows and output are aligned
// to them.
//
// A Unit has a Source, what a lane reads at once, of kCount elements of type Bits, a Result, what
// becomes of it, of as many elements of type Value, and is made for a row from its scales.
// unit(source, column) converts the elements from a column on, unit.one(bits, column) a single one.
#pragma once

#include "kernels/cuda/found_row.cuh"

namespace ramet {

template <typename Unit>
class AlignedRow {
 public:
  using Source = typename Unit::Source;

  AlignedRow() = default;
  __device__ AlignedRow(const CudaGatherArgs& args,
                        const RowAccess& access,
                        const FoundRow& row,
                        int lane)
      : from_(reinterpret_cast<const Source*>(row.data)),
        to_(static_cast<typename Unit::Result*>(args.out) +
            row.position * (args.row_bytes / int64_t{sizeof(Source)})),
        first_(static_cast<int>(first_unit(access, reinterpret_cast<uint64_t>(row.data), lane))),
        streams_(row.streams),
        unit_(row.scale) {}

  __device__ Source load(const CudaGatherArgs& args, const RowAccess& access, int step) const {
    const int u = unit_of(access, step);
    if (!has(args, u)) return Source{};
    return load_once(from_ + u, streams_);
  }

  __device__ void store(const CudaGatherArgs& args,
                        const RowAccess& access,
                        int step,
                        Source loaded) {
    const int u = unit_of(access, step);
    if (has(args, u)) to_[u] = unit_(loaded, int64_t{u} * Unit::kCount);
  }

 private:
  __device__ int unit_of(const RowAccess& access, int step) const {
    return first_ + step * access.lanes;
  }
  __device__ bool has(const CudaGatherArgs& args, int u) const {
    return from_ != nullptr &&
           unsigned(u) < static_cast<unsigned>(args.row_bytes) / unsigned{sizeof(Source)};
  }

  const Source* from_;
  typename Unit::Result* to_;
  int first_;
  bool streams_;
  Unit unit_;
};

}  // namespace ramet
