// What functions over the edges of a block share: chunks of work, and checks of arrays.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/attention.h"
#include "ramet/array.h"
#include "ramet/block_edges.h"
#include "ramet/error.h"

namespace ramet {

// Edges by destination, or by source, and ranges of these nodes with about as many edges each. The
// ranges depend on the edges alone, never on threads: sums over all edges add what each gave, in
// order.
//
// The caller of a function may have damaged the arrays of a block, so each range is checked first.
class EdgeWork {
 public:
  [[nodiscard]] static EdgeWork by_destination(const BlockEdges& edges) {
    return {edges, edges.indptr(), edges.indices(), nullptr, edges.num_src()};
  }
  [[nodiscard]] static EdgeWork by_source(const BlockEdges& edges, int threads) {
    const BlockEdges::Transposed& back = edges.transposed(threads);
    return {edges, back.indptr, back.indices, &back.edges, edges.num_dst()};
  }

  [[nodiscard]] const EdgeLists& lists() const { return lists_; }
  [[nodiscard]] int64_t num_chunks() const { return num_chunks_; }

  // body(chunk, begin, end) for the nodes [begin, end) of each chunk. Throws for damaged edges.
  template <typename Body>
  void visit(int threads, const Body& body) const {
    std::atomic<bool> is_good{true};
    parallel_for(num_chunks_, 1, threads, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = border(chunk), end = border(chunk + 1);
        if (is_valid(begin, end))
          body(chunk, begin, end);
        else
          is_good = false;
      }
    });
    if (is_good) return;
    edges_.check();
    throw_invalid("edges were written to while they were read");
  }

 private:
  static constexpr int64_t kWork = 4096;  // edges and nodes of a chunk

  EdgeWork(const BlockEdges& edges,
           const Array& offsets,
           const Array& ends,
           const Array* positions,
           int64_t num_ends)
      : edges_(edges),
        lists_{offsets.as<int64_t>().data(), ends.as<int32_t>().data(),
               positions == nullptr ? nullptr : positions->as<int32_t>().data()},
        num_nodes_(offsets.rows() - 1),
        num_ends_(num_ends),
        num_chunks_((edges.num_edges() + num_nodes_ + kWork - 1) / kWork) {}

  // The first node that `chunk` chunks of work come before.
  [[nodiscard]] int64_t border(int64_t chunk) const {
    if (chunk == num_chunks_) return num_nodes_;
    int64_t low = 0, high = num_nodes_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const uint64_t work =
          static_cast<uint64_t>(lists_.offsets[middle]) + static_cast<uint64_t>(middle);
      if (work < static_cast<uint64_t>(chunk * kWork))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  [[nodiscard]] bool is_valid(int64_t begin, int64_t end) const {
    if (begin >= end) return begin == end;
    const int64_t* offsets = lists_.offsets;
    bool is_valid = offsets[begin] >= 0 && offsets[end] <= edges_.num_edges();
    for (int64_t node = begin; node < end; ++node)
      is_valid &= offsets[node] <= offsets[node + 1];
    if (!is_valid) return false;
    const auto bound = static_cast<uint64_t>(num_ends_);
    for (int64_t e = offsets[begin]; e < offsets[end]; ++e)
      is_valid &= static_cast<uint64_t>(int64_t{lists_.ends[e]}) < bound;
    return is_valid;
  }

  const BlockEdges& edges_;
  EdgeLists lists_;
  int64_t num_nodes_, num_ends_, num_chunks_;
};

// Throws unless `array` has this dtype and shape.
inline void require_shape(const char* what,
                          const Array& array,
                          DType dtype,
                          std::vector<int64_t> shape) {
  if (array.dtype == dtype && array.shape == shape && array.device == kHost) return;
  Array expected;
  expected.dtype = dtype;
  expected.shape = std::move(shape);
  throw_invalid(what, " is ", array.describe(), ", expected ", expected.describe());
}

// The same, where it may have more rows.
inline void require_rows(const char* what,
                         const Array& array,
                         DType dtype,
                         std::vector<int64_t> shape) {
  if (array.rows() > shape[0]) shape[0] = array.rows();
  require_shape(what, array, dtype, std::move(shape));
}

// The same, of an array that is written.
inline void require_output(const char* what,
                           const Array& array,
                           DType dtype,
                           std::vector<int64_t> shape) {
  require_shape(what, array, dtype, std::move(shape));
  if (!array.writable) throw_invalid(what, " is read-only");
}

// H of an array [E, H].
[[nodiscard]] inline int64_t heads_of(const char* what,
                                      const Array& array,
                                      const BlockEdges& edges) {
  if (array.shape.size() != 2 || array.rows() != edges.num_edges())
    throw_invalid(what, " is ", array.describe(), ", expected [", edges.num_edges(), ", heads]");
  return array.shape[1];
}

// Calls body(T{}) with the array's element type, float or double; else throws.
template <typename Body>
void with_float(const char* what, const Array& array, const Body& body) {
  if (array.dtype == DType::kFloat32) return body(float{});
  if (array.dtype == DType::kFloat64) return body(double{});
  throw_invalid(what, " is ", array.describe(), ", expected float32 or float64");
}

template <typename T>
T* writable_data(const Array& array) {
  return static_cast<T*>(array.data);
}
template <typename T>
const T* data_of(const Array& array) {
  return static_cast<const T*>(array.data);
}

}  // namespace ramet
