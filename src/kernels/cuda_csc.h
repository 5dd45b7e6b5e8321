// The CSC of an edge type as sampling kernels read it.
#pragma once

#include <cstdint>

namespace ramet {

// Pages of kEdgePage in-edges, whose ids the device has a copy of while the others are on the host.
constexpr int64_t kEdgePage = 128;  // 4 lines of memory of int32
struct CudaCachedPages {
  const int32_t* slots =
      nullptr;  // of each page, its number in `indices`, or -1; nullptr: no cache
  const void* indices = nullptr;
};

// One edge type's CSC.
struct CudaCsc {
  const int64_t* indptr;
  const void* indices;
  bool wide_ids;  // int64, else int32
  int64_t num_edges;
  int64_t num_src_nodes;
  CudaCachedPages cached = {};
};

}  // namespace ramet
