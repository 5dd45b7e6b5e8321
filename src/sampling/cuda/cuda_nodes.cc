#include "cuda_nodes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sampling/relation_builder.h"

namespace ramet {
namespace {

constexpr int64_t kMaxNodes = std::numeric_limits<int32_t>::max();

}  // namespace

CudaNodes::CudaNodes(const CudaWork& work, int64_t num_nodes, int64_t* size, const TreeKeys* keys)
    : work_(work),
      num_nodes_(keys != nullptr ? kMaxNodes : num_nodes),
      tree_keys_(keys),
      device_size_(size) {
  if (has_keys()) return;
  slots_.reserve(work, num_nodes);
  num_slots_ = num_nodes;
}

CudaNodeTable CudaNodes::table() const {
  return {slots_.data(), keys_.data(), static_cast<uint64_t>(num_slots_ - 1)};
}

CudaNodeList CudaNodes::list() const {
  return {table(), nodes_.data(), std::min(nodes_.capacity(), kMaxNodes), device_size_};
}

void CudaNodes::start_batch(std::span<const int64_t> seeds, std::span<const int64_t> rows) {
  if (!is_clean_) empty_table();
  is_clean_ = has_rows_ = false;
  num_given_ = size_ = most_ = num_paths_ = 0;
  append(seeds, rows);
}

void CudaNodes::append(std::span<const int64_t> nodes, std::span<const int64_t> rows) {
  constexpr int64_t kBytes = sizeof(int64_t);
  const int64_t first = size_, count = std::ssize(nodes);
  num_given_ += count;
  reserve(count);
  size_ = most_ = first + count;
  work_.copy(nodes_.reserve(work_, size_, first) + first, nodes.data(), count * kBytes);
  work_.kernels.insert(work_.device, list(), has_keys() ? 0 : first, size_, work_.stream);
  set_rows(rows);
}

void CudaNodes::set_rows(std::span<const int64_t> rows) {
  if (rows.empty()) return;
  has_rows_ = true;
  const int64_t count = std::ssize(rows), first = size_ - count;
  work_.copy(rows_.reserve(work_, size_, first) + first, rows.data(),
             count * int64_t{sizeof(int64_t)});
}

// Without its node a key would stay in the table, which grows by the keys that there are.
void CudaNodes::keep(int64_t size) {
  if (has_keys())
    empty_table();
  else
    clear(size);
  size_ = most_ = size;
}

CudaPath* CudaNodes::paths() {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(CudaPath));
  if (num_paths_ < most_) {
    CudaPath* all = paths_.reserve(work_, most_, num_paths_);
    work_.fill(all + num_paths_, 0, (most_ - num_paths_) * kBytes);
    num_paths_ = most_;
  }
  return paths_.data();
}

void CudaNodes::set_paths(std::span<const CudaPath> paths) {
  num_paths_ = std::ssize(paths);
  work_.copy(paths_.reserve(work_, num_paths_), paths.data(),
             num_paths_ * static_cast<int64_t>(sizeof(CudaPath)));
}

void CudaNodes::start_hop(ListRange range, const CudaSpan* spans, bool has_paths) {
  has_spans_ = spans != nullptr;
  if (!has_keys()) return;
  work_.kernels.split_keys(work_.device,
                           {.keys = ids() + range.begin,
                            .count = range.size(),
                            .id_bits = id_bits(),
                            .ids = dst_ids_.reserve(work_, range.size()),
                            .spans = spans,
                            .allowed = has_spans_ ? allowed_.reserve(work_, range.size()) : nullptr,
                            .paths = has_paths ? paths() + range.begin : nullptr},
                           work_.stream);
}

void CudaNodes::empty_table() const {
  work_.fill(slots_.data(), 0xff, num_slots_ * int64_t{sizeof(uint32_t)});
  if (has_keys()) work_.fill(keys_.data(), 0xff, num_slots_ * int64_t{sizeof(uint64_t)});
}

void CudaNodes::reserve(int64_t count) {
  const auto wanted =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * (most_ + count))));
  if (!has_keys() || wanted <= num_slots_) return;
  num_slots_ = 0;  // without memory for both there is no table
  slots_.reserve(work_, wanted);
  keys_.reserve(work_, wanted);
  num_slots_ = wanted;
  empty_table();
  work_.kernels.insert_again(work_.device, list(), most_, work_.stream);
}

void CudaNodes::number(const CudaSources& sources, int32_t* local, CudaSumScratch& sums) {
  // Every node of the graph is new at most once.
  const int64_t most = std::min({most_ + sources.count, num_given_ + num_nodes_, kMaxNodes});
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
  if (has_keys()) return;
  clear(0);
  is_clean_ = true;
}

void CudaNodes::clear(int64_t first) const {
  work_.kernels.clear(work_.device, list(), first, size_, work_.stream);
}

}  // namespace ramet
