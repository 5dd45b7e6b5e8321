#include "ramet/block_edges.h"

#include <string>
#include <utility>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kMaxEdges = int64_t{1} << 31;  // positions are int32

void check_forms(const Array& indptr, const Array& indices, int64_t num_src) {
  if (indptr.dtype != DType::kInt64 || indptr.shape.size() != 1 || indptr.rows() < 1)
    throw_invalid("indptr is ", indptr.describe(), ", expected int64[num_dst + 1]");
  if (indices.dtype != DType::kInt32 || indices.shape.size() != 1)
    throw_invalid("indices are ", indices.describe(), ", expected int32[num_edges]");
  if (indices.rows() >= kMaxEdges)
    throw_invalid("indices are ", indices.describe(), ", expected less than 2^31");
  if (num_src < 0) throw_invalid("num_src is ", num_src, ", expected at least 0");
  if (indptr.device != kHost || indices.device != kHost)
    throw_invalid("edges are in memory of device ", indices.device, ", expected the host's");
}

// Counts, in indptr[s + 1], the edges of each source; false where an index is out of range.
bool count_sources(std::span<const int32_t> indices, int64_t num_src, int64_t* indptr) {
  for (int64_t s = 0; s <= num_src; ++s)
    indptr[s] = 0;
  for (const int32_t source : indices) {
    if (static_cast<uint64_t>(int64_t{source}) >= static_cast<uint64_t>(num_src)) return false;
    ++indptr[source + 1];
  }
  return true;
}

}  // namespace

BlockEdges::BlockEdges(Trusted, Array indptr, Array indices, int64_t num_src)
    : indptr_(std::move(indptr)), indices_(std::move(indices)), num_src_(num_src) {
  check_forms(indptr_, indices_, num_src_);
}

BlockEdges::BlockEdges(Array indptr, Array indices, int64_t num_src)
    : BlockEdges(Trusted{}, std::move(indptr), std::move(indices), num_src) {
  check();
}

std::shared_ptr<const BlockEdges> BlockEdges::trusted(Array indptr,
                                                      Array indices,
                                                      int64_t num_src) {
  return std::shared_ptr<const BlockEdges>(
      new BlockEdges(Trusted{}, std::move(indptr), std::move(indices), num_src));
}

void BlockEdges::check() const {
  const auto offsets = indptr_.as<int64_t>();
  for (size_t d = 0; d < offsets.size(); ++d) {
    const int64_t before = d == 0 ? 0 : offsets[d - 1];
    if (d == 0 ? offsets[0] != 0 : offsets[d] < before)
      throw_invalid("indptr[", d, "] is ", offsets[d], ", expected ",
                    d == 0 ? "0" : concat("at least ", before, ", as before it"));
  }
  if (offsets.back() != num_edges())
    throw_invalid("indptr ends with ", offsets.back(), ", but there are ", num_edges(), " indices");
  const auto sources = indices_.as<int32_t>();
  for (size_t e = 0; e < sources.size(); ++e) {
    if (sources[e] >= 0 && sources[e] < num_src_) continue;
    throw_error(ErrorCode::kOutOfRange, "indices[", e, "] is ", sources[e], ", outside [0, ",
                num_src_, ")");
  }
}

const BlockEdges::Transposed& BlockEdges::transposed(int) const {
  const std::lock_guard lock(mutex_);
  if (is_transposed_) return transposed_;
  const auto& pool = BufferPool::shared();
  Transposed result{pool->allocate_array(DType::kInt64, {num_src_ + 1}),
                    pool->allocate_array(DType::kInt32, {num_edges()}),
                    pool->allocate_array(DType::kInt32, {num_edges()})};
  auto* const ends = static_cast<int64_t*>(result.indptr.data);
  auto* const destinations = static_cast<int32_t*>(result.indices.data);
  auto* const positions = static_cast<int32_t*>(result.edges.data);
  const auto offsets = indptr_.as<int64_t>();
  const auto sources = indices_.as<int32_t>();
  check();
  if (!count_sources(sources, num_src_, ends)) check();
  for (int64_t s = 0, sum = 0; s < num_src_; ++s)  // to where the edges of s begin, in ends[s + 1]
    sum += std::exchange(ends[s + 1], sum);
  for (int64_t d = 0; d < num_dst(); ++d) {
    for (int64_t e = offsets[static_cast<size_t>(d)]; e < offsets[static_cast<size_t>(d) + 1];
         ++e) {
      const int64_t place = ends[sources[static_cast<size_t>(e)] + 1]++;
      destinations[place] = static_cast<int32_t>(d);
      positions[place] = static_cast<int32_t>(e);
    }
  }
  transposed_ = std::move(result);
  is_transposed_ = true;
  return transposed_;
}

}  // namespace ramet
