// One lane's part of a row that is gathered by the words of memory which hold it, whatever its
// bytes are aligned to (gather_access()). Lanes hand their words on, and each makes a word of the
// output out of its lower neighbor's and its own, by one byte permutation.
//
// Words that the row shares with others are read whole; only where they reach beyond the memory
// that is known to be there, are they read by bytes.
#pragma once

#include "kernels/cuda/found_row.cuh"

namespace ramet {

template <typename Unit>
class RealignedRow {
 public:
  using Source = unsigned;
  static_assert(sizeof(typename Unit::Source) == kWordBytes);

  RealignedRow() = default;
  __device__ RealignedRow(const CudaGatherArgs& args,
                          const RowAccess& access,
                          const FoundRow& row,
                          int lane)
      : from_(row.data),
        to_(static_cast<char*>(args.out) + row.position * args.row_bytes * kGrowth),
        first_(static_cast<int>(first_unit(access, reinterpret_cast<uint64_t>(row.data), lane))),
        before_(static_cast<int>(reinterpret_cast<uint64_t>(row.data) % kWordBytes)),
        streams_(row.streams),
        is_inside_(is_inside(args, row)),
        unit_(row.scale) {
    const auto out_before =
        static_cast<int>(reinterpret_cast<uint64_t>(to_) / kGrowth % kWordBytes);
    skip_ = ((before_ - out_before - 1) & (kWordBytes - 1)) + 1;
  }

  __device__ unsigned load(const CudaGatherArgs& args, const RowAccess& access, int step) const {
    const int byte = first_byte(access, step);
    if (from_ == nullptr || byte <= -kWordBytes || byte >= args.row_bytes) return 0;
    const char* const at = from_ + byte;
    if (is_inside_ || (byte >= 0 && byte + kWordBytes <= args.row_bytes))
      return load_once(reinterpret_cast<const unsigned*>(at), streams_);
    unsigned word = 0;
    for (int b = 0; b < kWordBytes; ++b)
      if (byte + b >= 0 && byte + b < args.row_bytes)
        word |= unsigned{load_once(reinterpret_cast<const unsigned char*>(at + b), streams_)}
                << (8 * b);
    return word;
  }

  // All lanes of the row call it, step by step.
  __device__ void store(const CudaGatherArgs& args,
                        const RowAccess& access,
                        int step,
                        unsigned loaded) {
    const unsigned lower = lower_neighbor(access, loaded);
    const unsigned word = __byte_perm(lower, loaded, 0x3210 + 0x1111 * unsigned(skip_));
    const int byte = first_byte(access, step) - kWordBytes + skip_;
    if (from_ == nullptr || byte <= -kWordBytes || byte >= args.row_bytes) return;
    if (byte >= 0 && byte + kWordBytes <= args.row_bytes)
      *reinterpret_cast<typename Unit::Result*>(to_ + int64_t{byte} * kGrowth) =
          unit_(word, byte / kElementBytes);
    else
      store_part(args, byte, word);
  }

 private:
  static constexpr int kElementBytes = sizeof(typename Unit::Bits);
  static constexpr int kGrowth = sizeof(typename Unit::Value) / kElementBytes;

  // The row's byte that this lane's word begins with.
  __device__ int first_byte(const RowAccess& access, int step) const {
    return (first_ + step * access.lanes) * kWordBytes - before_;
  }

  // The word below this lane's; lane 0 gets the last lane's of the step before.
  __device__ unsigned lower_neighbor(const RowAccess& access, unsigned loaded) {
    const int warp_lane = int(threadIdx.x) % kWarpLanes, lane = warp_lane & (access.lanes - 1);
    const unsigned row_lanes =
        access.lanes == kWarpLanes ? 0xffffffffu : ((1u << access.lanes) - 1) << (warp_lane - lane);
    const unsigned given = lane == access.lanes - 1 ? last_ : loaded;
    last_ = loaded;
    return __shfl_sync(row_lanes, given, lane + access.lanes - 1, access.lanes);
  }

  // The elements of a word of the output of which others are another row's.
  __device__ void store_part(const CudaGatherArgs& args, int byte, unsigned word) const {
    for (int b = 0; b < kWordBytes; b += kElementBytes) {
      const int at = byte + b;
      if (at < 0 || at >= args.row_bytes) continue;
      *reinterpret_cast<typename Unit::Value*>(to_ + int64_t{at} * kGrowth) =
          unit_.one(static_cast<typename Unit::Bits>(word >> (8 * b)), at / kElementBytes);
    }
  }

  // All words of the row are words of the table. Of the cache it is not known where it ends.
  __device__ static bool is_inside(const CudaGatherArgs& args, const FoundRow& row) {
    const auto begin = reinterpret_cast<uint64_t>(row.data) / kWordBytes * kWordBytes;
    const auto end = reinterpret_cast<uint64_t>(row.data) + static_cast<uint64_t>(args.row_bytes);
    const auto table = reinterpret_cast<uint64_t>(args.table);
    return !row.is_cached && begin >= table &&
           end + kWordBytes - 1 <=
               table + static_cast<uint64_t>(args.num_rows) * static_cast<uint64_t>(args.row_bytes);
  }

  const char* from_;
  char* to_;
  int first_;
  int before_;  // bytes of word 0 ahead of the row
  int skip_;    // 1 to 4: bytes of the lower word that a word of the output does not have
  bool streams_, is_inside_;
  unsigned last_ = 0;
  Unit unit_;
};

}  // namespace ramet
