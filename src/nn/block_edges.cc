#include "ramet/block_edges.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "counting_sort.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();  // as ids and positions are

void check_count(int64_t count, int64_t most, const char* what) {
  if (count < 0 || count > most)
    throw_invalid(what, " is ", count, ", expected in [0, ", most, "]");
}

// `begin`: how a message names an entry, up to its position.
template <typename Id>
void check_ids(std::span<const Id> ids, int64_t bound, const char* begin) {
  for (size_t e = 0; e < ids.size(); ++e) {
    if (ids[e] >= 0 && ids[e] < bound) continue;
    throw_error(ErrorCode::kOutOfRange, begin, e, "] is ", ids[e], ", outside [0, ", bound, ")");
  }
}

void check_forms(const Array& indptr, const Array& indices, int64_t num_src) {
  if (indptr.dtype != DType::kInt64 || indptr.shape.size() != 1 || indptr.rows() < 1)
    throw_invalid("indptr is ", indptr.describe(), ", expected int64[num_dst + 1]");
  if (indices.dtype != DType::kInt32 || indices.shape.size() != 1)
    throw_invalid("indices are ", indices.describe(), ", expected int32[num_edges]");
  check_count(indices.rows(), kMaxInt32, "num_edges");
  check_count(num_src, std::numeric_limits<int64_t>::max() / 16, "num_src");
  if (indptr.device != kHost || indices.device != kHost)
    throw_invalid("edges are in memory of device ", indices.device, ", expected the host's");
}

template <typename T>
std::span<T> entries(const Array& array) {
  return {static_cast<T*>(array.data), static_cast<size_t>(array.rows())};
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
  check_ids(indices_.as<int32_t>(), num_src_, "indices[");
}

const BlockEdges::Transposed& BlockEdges::transposed(int threads) const {
  const std::lock_guard lock(mutex_);
  if (is_transposed_) return transposed_;
  check();
  const auto& pool = BufferPool::shared();
  Transposed result{pool->allocate_array(DType::kInt64, {num_src_ + 1}),
                    pool->allocate_array(DType::kInt32, {num_edges()}),
                    pool->allocate_array(DType::kInt32, {num_edges()})};
  auto* const destinations = static_cast<int32_t*>(result.indices.data);
  auto* const positions = static_cast<int32_t*>(result.edges.data);
  const auto offsets = indptr_.as<int64_t>();
  const CountingSort<int32_t> sort(indices_.as<int32_t>(), num_src_,
                                   static_cast<int64_t*>(result.indptr.data), threads);
  sort.visit([&](const auto& part) {
    auto end_of_next = std::ranges::upper_bound(offsets, part.begin());
    for (int64_t e = part.begin(); e < part.end(); ++end_of_next) {
      const auto d = static_cast<int32_t>(end_of_next - offsets.begin() - 1);
      for (const int64_t end = std::min(*end_of_next, part.end()); e < end; ++e) {
        const int64_t guess = part.guess_ahead(e);
        __builtin_prefetch(destinations + guess, 1);
        __builtin_prefetch(positions + guess, 1);
        const int64_t position = part.take(e);
        destinations[position] = d;
        positions[position] = static_cast<int32_t>(e);
      }
    }
  });
  for (Array* array : {&result.indptr, &result.indices, &result.edges})
    array->writable = false;  // nobody compares them with their bounds again
  transposed_ = std::move(result);
  is_transposed_ = true;
  return transposed_;
}

SortedEdges sort_edges(const Array& edge_index, int64_t num_src, int64_t num_dst, int threads) {
  if (edge_index.dtype != DType::kInt64 || edge_index.shape.size() != 2 || edge_index.rows() != 2)
    throw_invalid("edge_index is ", edge_index.describe(), ", expected int64[2, num_edges]");
  const int64_t num_edges = edge_index.shape[1];
  check_count(num_edges, kMaxInt32, "num_edges");
  check_count(num_src, kMaxInt32, "num_src");
  check_count(num_dst, kMaxInt32, "num_dst");
  const auto ids = edge_index.as<int64_t>();
  const auto sources = ids.first(static_cast<size_t>(num_edges));
  const auto destinations = ids.last(static_cast<size_t>(num_edges));
  check_ids(sources, num_src, "edge_index[0, ");
  check_ids(destinations, num_dst, "edge_index[1, ");

  const auto& pool = BufferPool::shared();
  Array indptr = pool->allocate_array(DType::kInt64, {num_dst + 1});
  Array indices = pool->allocate_array(DType::kInt32, {num_edges});
  const auto sorted = entries<int32_t>(indices);
  const CountingSort<int64_t> sort(destinations, num_dst, static_cast<int64_t*>(indptr.data),
                                   threads);
  SortedEdges result;
  if (std::ranges::is_sorted(destinations)) {
    std::ranges::transform(sources, sorted.begin(),
                           [](int64_t source) { return static_cast<int32_t>(source); });
  } else {
    result.order = pool->allocate_array(DType::kInt64, {num_edges});
    const auto order = entries<int64_t>(result.order);
    sort.visit([&](const auto& part) {
      for (int64_t e = part.begin(); e < part.end(); ++e) {
        const auto position = static_cast<size_t>(part.take(e));
        sorted[position] = static_cast<int32_t>(sources[static_cast<size_t>(e)]);
        order[position] = e;
      }
    });
  }
  result.edges = BlockEdges::trusted(std::move(indptr), std::move(indices), num_src);
  return result;
}

}  // namespace ramet
