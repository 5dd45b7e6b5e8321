#include "generator.h"

#include <algorithm>
#include <utility>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "ramet/random.h"

namespace ramet::generator {

uint64_t purpose_key(uint64_t seed, Purpose purpose) {
  return absorb(absorb(static_cast<uint64_t>(Domain::kGenerate), seed), purpose);
}

Array allocate(DType dtype, std::vector<int64_t> shape) {
  return BufferPool::create()->allocate_array(dtype, std::move(shape));
}

Array ids_array(const std::vector<int32_t>& ids) {
  Array array = allocate(DType::kInt32, {static_cast<int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), static_cast<int32_t*>(array.data));
  return array;
}

StoreContents contents_of(int64_t num_nodes, Csc csc) {
  StoreContents contents;
  contents.node_counts[kDefaultNodeType] = num_nodes;
  const std::string edge_type =
      EdgeTypeName{kDefaultNodeType, kDefaultRelation, kDefaultNodeType}.encoded();
  const std::string folder = "edge/" + edge_type + "/";
  contents.reverses[edge_type] = {edge_type};
  contents.arrays.emplace_back(folder + "indptr", std::move(csc.indptr));
  contents.arrays.emplace_back(folder + "indices", std::move(csc.indices));
  return contents;
}

}  // namespace ramet::generator
