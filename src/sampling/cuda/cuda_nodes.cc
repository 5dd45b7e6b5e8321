#include "cuda_nodes.h"

#include <algorithm>
#include <limits>

#include "sampling/relation_builder.h"

namespace ramet {
namespace {

constexpr int64_t kMaxNodes = std::numeric_limits<int32_t>::max();

}  // namespace

CudaNodes::CudaNodes(const CudaWork& work, int64_t num_nodes, int64_t* size)
    : work_(work), num_nodes_(num_nodes), device_size_(size) {
  slots_.reserve(work, num_nodes);
}

CudaNodeList CudaNodes::list() const {
  return {slots_.data(), nodes_.data(), std::min(nodes_.capacity(), kMaxNodes), device_size_};
}

void CudaNodes::start_batch(std::span<const int64_t> seeds) {
  if (!is_clean_) work_.fill(slots_.data(), 0xff, num_nodes_ * int64_t{sizeof(uint32_t)});
  is_clean_ = false;
  num_seeds_ = size_ = most_ = static_cast<int64_t>(seeds.size());
  nodes_.reserve(work_, size_);
  work_.copy(nodes_.data(), seeds.data(), size_ * int64_t{sizeof(int64_t)});
  work_.kernels.insert(work_.device, list(), size_, work_.stream);
}

void CudaNodes::number(const CudaSources& sources, int32_t* local, CudaSumScratch& sums) {
  // Every node of the graph is new at most once.
  const int64_t most = std::min({most_ + sources.count, num_seeds_ + num_nodes_, kMaxNodes});
  nodes_.reserve(work_, most, most_);
  work_.kernels.number(work_.device,
                       {.sources = sources.ids,
                        .num_picks = sources.count,
                        .list = list(),
                        .rank = rank_.reserve(work_, sources.count),
                        .local = local,
                        .scan = sums.reserve(work_, sources.count)},
                       work_.stream);
  most_ = most;
}

void CudaNodes::set_size(int64_t size) {
  if (size > kMaxNodes) throw_too_many_nodes();
  size_ = most_ = size;
}

void CudaNodes::finish_batch() {
  work_.kernels.clear(work_.device, list(), size_, work_.stream);
  is_clean_ = true;
}

}  // namespace ramet
