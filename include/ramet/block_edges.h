// BlockEdges: the edges of a block for aggregations, and their transpose, over which gradients are
// pulled.
//
// Memory: shares the arrays that it is given; the transpose is its own (pooled). Threads: any; the
// transpose is built once, on first use; other callers wait. Forks: any, but not while another
// thread builds the transpose. Failure: see the constructor and transposed().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"

namespace ramet {

class BlockEdges {
 public:
  // By source: its destinations. The edges of a source are in the order of the block's edges.
  struct Transposed {
    Array indptr;   // int64[num_src + 1]
    Array indices;  // int32[num_edges]: destinations
    Array edges;    // int32[num_edges]: positions in the block's indices
  };

  // `indptr`: int64[num_dst + 1], ascending from 0 to the number of edges. `indices`:
  // int32[num_edges], sources in [0, num_src). Throws kInvalidArgument for other arrays, and
  // kOutOfRange for a source outside its bound.
  BlockEdges(Array indptr, Array indices, int64_t num_src);
  // From a sampler's arrays, unchecked.
  [[nodiscard]] static std::shared_ptr<const BlockEdges> trusted(Array indptr,
                                                                 Array indices,
                                                                 int64_t num_src);

  [[nodiscard]] int64_t num_src() const { return num_src_; }
  [[nodiscard]] int64_t num_dst() const { return indptr_.rows() - 1; }
  [[nodiscard]] int64_t num_edges() const { return indices_.rows(); }
  [[nodiscard]] const Array& indptr() const { return indptr_; }
  [[nodiscard]] const Array& indices() const { return indices_; }

  // By a counting sort, on at most `threads` threads (0: all); the same for any number. Throws what
  // check() throws, and kNoSpace.
  [[nodiscard]] const Transposed& transposed(int threads) const;
  [[nodiscard]] bool is_transposed() const { return is_transposed_; }

  // Checks every entry, as the constructor does: a caller may have written to the arrays since.
  void check() const;

 private:
  struct Trusted {};
  BlockEdges(Trusted, Array indptr, Array indices, int64_t num_src);

  Array indptr_, indices_;
  int64_t num_src_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_transposed_{false};
  mutable Transposed transposed_;
};

// transposed() of a sampler's edges on a device, on the stream, in memory of `pool` there.
[[nodiscard]] BlockEdges::Transposed transpose_on_device(const Array& indptr,
                                                         const Array& indices,
                                                         int64_t num_src,
                                                         BufferPool& pool,
                                                         CudaStreamHandle stream);

// Edges in any order, as BlockEdges. Edges of a destination keep their order.
struct SortedEdges {
  std::shared_ptr<const BlockEdges> edges;
  Array order;  // int64[num_edges]: the position of each; without data where they were in order
};

// `edge_index`: int64[2, num_edges], sources above destinations. Throws kInvalidArgument for
// another array, and kOutOfRange for a node outside its bound.
[[nodiscard]] SortedEdges sort_edges(const Array& edge_index,
                                     int64_t num_src,
                                     int64_t num_dst,
                                     int threads = 1);

}  // namespace ramet
