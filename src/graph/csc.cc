// Edge list to CSC in two passes that both stay in cache: a stable radix partition of the edges by
// the high bits of their destination (radix_partition.h), then a stable counting sort of every
// bucket (bucket.h). One counting sort of everything would miss the caches once or twice per edge.
// Stability makes the result unique, so it does not depend on threads.
//
// For undirected graphs the partition takes every edge in both directions; each bucket is then
// sorted by (row, source), and repeats are dropped, before the counting sort.
#include "ramet/csc.h"

#include <algorithm>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "bucket.h"
#include "check_edges.h"
#include "edge_arrays.h"
#include "radix_partition.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kBucketGrain = 8;

Array allocate(DType dtype, int64_t n) {
  return BufferPool::create()->allocate_array(dtype, {n});
}

template <typename T>
T* mutable_data(const Array& array) {
  return static_cast<T*>(array.data);
}

struct Sizes {
  int64_t num_src, num_dst;
  int threads;
};

// Drops the repeats of each bucket: kept[b] records remain at the front of bucket b.
template <typename Record>
std::vector<size_t> deduplicate(const RadixPartition<Record>& partition,
                                const Buckets& buckets,
                                const Sizes& sizes) {
  std::vector<size_t> kept(static_cast<size_t>(buckets.size()));
  parallel_for(buckets.size(), kBucketGrain, sizes.threads, [&](int64_t begin, int64_t end) {
    BucketSorter<Record> sorter(buckets.num_rows(0), sizes.num_src);
    for (int64_t b = begin; b < end; ++b)
      kept[static_cast<size_t>(b)] = sorter.deduplicate(partition.bucket(b));
  });
  return kept;
}

std::vector<size_t> all_of(const std::vector<int64_t>& begin) {
  std::vector<size_t> sizes;
  for (size_t b = 0; b + 1 < begin.size(); ++b)
    sizes.push_back(static_cast<size_t>(begin[b + 1] - begin[b]));
  return sizes;
}

// The exclusive prefix sum, with the total at the end.
std::vector<int64_t> positions_of(const std::vector<size_t>& counts) {
  std::vector<int64_t> positions{0};
  for (const size_t count : counts)
    positions.push_back(positions.back() + static_cast<int64_t>(count));
  return positions;
}

template <typename Record>
Csc place_buckets(const RadixPartition<Record>& partition,
                  const Buckets& buckets,
                  const std::vector<size_t>& kept,
                  Array indptr,
                  const Sizes& sizes) {
  using Id = typename Record::Id;
  const std::vector<int64_t> positions = positions_of(kept);
  Csc csc{std::move(indptr), allocate(kDTypeOf<typename Record::Index>, positions.back()), {}};
  if constexpr (!std::is_same_v<Id, NoId>) csc.edge_ids = allocate(kDTypeOf<Id>, positions.back());
  auto* const offsets = mutable_data<int64_t>(csc.indptr);
  offsets[sizes.num_dst] = positions.back();
  parallel_for(buckets.size(), kBucketGrain, sizes.threads, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const auto i = static_cast<size_t>(b);
      const Rows<Record> rows{
          {offsets + buckets.first_row(b), static_cast<size_t>(buckets.num_rows(b))},
          mutable_data<typename Record::Index>(csc.indices),
          mutable_data<Id>(csc.edge_ids)};
      place<Record>(partition.bucket(b).first(kept[i]), positions[i], rows);
    }
  });
  return csc;
}

void drop_identity_ids(Csc& csc) {
  if (csc.edge_ids.data == nullptr) return;
  const bool identity = with_ids(csc.edge_ids, [](auto ids) {
    for (size_t p = 0; p < ids.size(); ++p) {
      if (static_cast<size_t>(ids[p]) != p) return false;
    }
    return true;
  });
  if (identity) csc.edge_ids = {};
}

// Called once the edges have been copied.
using OnCopied = std::function<void()>;

template <typename Record, typename T>
Csc sort_edges(const EdgeArrays<T>& edges, const Sizes& sizes, const OnCopied& on_copied) {
  Array indptr = allocate(DType::kInt64, sizes.num_dst + 1);
  const Buckets buckets(sizes.num_dst, edges.size());
  RadixPartitioner partitioner(edges, buckets, sizes.threads);
  if (!partitioner.count(sizes.num_src, sizes.num_dst)) {
    check_range(edges.src, sizes.num_src, "source");
    check_range(edges.dst, sizes.num_dst, "destination");
  }
  const auto partition = partitioner.template scatter<Record>();
  on_copied();
  const auto kept =
      edges.undirected ? deduplicate(partition, buckets, sizes) : all_of(partition.begin);
  Csc csc = place_buckets(partition, buckets, kept, std::move(indptr), sizes);
  drop_identity_ids(csc);
  return csc;
}

template <typename Index, typename T>
Csc choose_ids(const EdgeArrays<T>& edges,
               const Sizes& sizes,
               bool edge_ids,
               const OnCopied& on_copied) {
  if (!edge_ids) return sort_edges<EdgeRecord<Index, NoId>>(edges, sizes, on_copied);
  if (width_for(edges.size() * (edges.undirected ? 2 : 1)) == DType::kInt32)
    return sort_edges<EdgeRecord<Index, int32_t>>(edges, sizes, on_copied);
  return sort_edges<EdgeRecord<Index, int64_t>>(edges, sizes, on_copied);
}

template <typename T>
Csc choose_widths(const EdgeArrays<T>& edges,
                  const Sizes& sizes,
                  bool edge_ids,
                  const OnCopied& on_copied) {
  if (width_for(sizes.num_src) == DType::kInt32)
    return choose_ids<int32_t>(edges, sizes, edge_ids, on_copied);
  return choose_ids<int64_t>(edges, sizes, edge_ids, on_copied);
}

Csc check_and_build(const Array& src,
                    const Array& dst,
                    int64_t num_src,
                    int64_t num_dst,
                    const CscOptions& options,
                    const OnCopied& on_copied) {
  require_edges(src, dst);
  require_sizes(num_src, num_dst, options.undirected, options.threads);
  return with_ids(src, [&](auto sources) {
    using T = typename decltype(sources)::value_type;
    const EdgeArrays<T> edges{sources, dst.as<T>(), options.undirected};
    const int threads = options.threads > 0 ? options.threads : hardware_threads();
    return choose_widths(edges, {num_src, num_dst, threads}, options.edge_ids, on_copied);
  });
}

}  // namespace

Csc build_csc(const Array& src,
              const Array& dst,
              int64_t num_src,
              int64_t num_dst,
              const CscOptions& options) {
  return check_and_build(src, dst, num_src, num_dst, options, [] {});
}

Csc build_csc(
    Array&& src, Array&& dst, int64_t num_src, int64_t num_dst, const CscOptions& options) {
  return check_and_build(src, dst, num_src, num_dst, options, [&] { src = dst = {}; });
}

Csc check_csc(const Array& indptr, const Array& indices, int64_t num_src, int64_t num_dst) {
  require_ids(indptr, "indptr");
  require_ids(indices, "indices");
  if (num_src < 0 || num_dst < 0 || num_dst > kMaxNodes) {
    throw_invalid("numbers of nodes are ", num_src, " and ", num_dst);
  }
  if (indptr.rows() != num_dst + 1) {
    throw_invalid("indptr has ", indptr.rows(), " entries, expected num_dst + 1 = ", num_dst + 1);
  }
  Csc csc;
  csc.indptr = allocate(DType::kInt64, num_dst + 1);
  auto* offsets = mutable_data<int64_t>(csc.indptr);
  with_ids(indptr, [&](auto given) { std::copy(given.begin(), given.end(), offsets); });
  if (offsets[0] != 0) throw_invalid("indptr[0] is ", offsets[0], ", expected 0");
  for (int64_t v = 0; v < num_dst; ++v) {
    if (offsets[v + 1] < offsets[v]) {
      throw_invalid("indptr decreases at ", v + 1, ": ", offsets[v], ", then ", offsets[v + 1]);
    }
  }
  if (offsets[num_dst] != indices.rows()) {
    throw_invalid("indptr ends with ", offsets[num_dst], ", but indices has ", indices.rows(),
                  " entries");
  }
  csc.indices = allocate(width_for(num_src), indices.rows());
  with_ids(indices, [&](auto given) {
    check_range(given, num_src, "source");
    if (csc.indices.dtype == DType::kInt32) {
      std::transform(given.begin(), given.end(), mutable_data<int32_t>(csc.indices),
                     [](auto id) { return static_cast<int32_t>(id); });
    } else {
      std::copy(given.begin(), given.end(), mutable_data<int64_t>(csc.indices));
    }
  });
  return csc;
}

}  // namespace ramet
