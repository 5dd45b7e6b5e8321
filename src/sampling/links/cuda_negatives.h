// CudaNegatives: draw_negatives() (negatives.h) on a device, to the bit. What kernels leave
// undecided, and what does not fit, is the CPU's, whose errors it has.
//
// Immutable; keeps the edges and the candidates of its options, copied to the device. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda_negatives.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda_sampler.h"
#include "ramet/negatives.h"

namespace ramet {

class CudaNegatives {
 public:
  // Throws what draw_negatives() throws for options that do not fit, and kNoSpace.
  CudaNegatives(NegativeOptions options, int device);
  // Bytes of device memory that it takes, where the device has a copy of the graph `there`.
  [[nodiscard]] static int64_t bytes_on_device(const NegativeOptions& options, const Graph& there);

  // In host memory. options: those that it was made for, but for `amount`, `epoch`, `seed` and
  // candidates among others. `pool`: of the stream; `pinned`: page-locked memory of the host.
  [[nodiscard]] Array draw(const Pairs& pairs,
                           const NegativeOptions& options,
                           const std::shared_ptr<BufferPool>& pool,
                           BufferPool& pinned,
                           CudaStreamHandle stream) const;
  // What kernels draw: kUndecided for the rest. Of one pair or more.
  [[nodiscard]] Array draw_decided(const Pairs& pairs,
                                   const NegativeOptions& options,
                                   const std::shared_ptr<BufferPool>& pool,
                                   BufferPool& pinned,
                                   CudaStreamHandle stream) const;

 private:
  [[nodiscard]] CudaPairRows place(const PairRows& rows);
  [[nodiscard]] CudaCandidates place(const Candidates& candidates);
  template <typename T>
  [[nodiscard]] const T* copied(const T* data, int64_t count);

  int device_;
  std::vector<std::shared_ptr<const void>> kept_;
  const CudaPairRows* edges_;
  CudaCandidates of_destinations_, of_sources_;
};

}  // namespace ramet
