// The gather of rows as they are stored: gather_kernel.cuh with units of bytes.
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/gather_kernel.cuh"
#include "kernels/cuda/move_row.cuh"
#include "kernels/cuda/rows.h"

namespace ramet {
namespace {

template <typename Word>
struct CopiedUnit {
  using Bits = unsigned char;
  using Value = unsigned char;
  using Source = Word;
  using Result = Word;
  static constexpr int kCount = sizeof(Word);

  CopiedUnit() = default;
  __device__ explicit CopiedUnit(const float*) {}
  __device__ Word operator()(Word word, int64_t) const { return word; }
  __device__ Value one(Bits bits, int64_t) const { return bits; }
};

}  // namespace

void gather_rows_cuda(int device, const CudaGatherArgs& args, void* stream) {
  if (args.num_ids == 0) return;
  const DeviceScope scope(device);
  const RowAccess access =
      gather_access(reinterpret_cast<uint64_t>(args.table), reinterpret_cast<uint64_t>(args.out),
                    args.row_bytes, 16, args.shift);
  const GatherCall call{"gather_rows", device, args, {}, access, stream};
  with_unit(access.unit, [&](auto word) { launch_gather<CopiedUnit<decltype(word)>>(call); });
}

}  // namespace ramet
