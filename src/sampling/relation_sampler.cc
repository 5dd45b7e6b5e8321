// Four stages, each a loop whose random accesses are known some iterations ahead and prefetched:
// read the rows' bounds | pick positions | load the ids that stand there | relabel. The bounds come
// first, for they say how much memory the result takes. The other three follow each other in chunks
// of a few rows: picking, which computes, requests the memory that loading reads one chunk later,
// and loading that of relabeling, so that computing overlaps with waiting for memory (software
// pipelining; Chen, Ailamaki, Gibbons, Mowry: "Improving hash join performance through
// prefetching", 2004, call it group prefetching).
//
// Relabeling fixes the order of new nodes, so one thread does it; the others are pure functions of
// a destination and may run on several.
#include "relation_sampler.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "ramet/error.h"
#include "ramet/parallel.h"
#include "request.h"

namespace ramet {
namespace {

constexpr int64_t kPrefetch = 128;          // rows ahead whose bounds are requested
constexpr int64_t kChunkRows = 128;         // rows of a chunk, at most
constexpr int64_t kChunkPicks = 1024;       // picks of a chunk, where its rows have that few
constexpr int64_t kGrain = 4096;            // rows that one thread takes at a time
constexpr size_t kPiece = size_t{1} << 20;  // ids relabeled before nodes are counted again
constexpr int64_t kMaxPicks = int64_t{1} << 40;
constexpr auto kMaxNodes = static_cast<size_t>(std::numeric_limits<int32_t>::max());

[[noreturn]] void corrupt_entry(const std::string& place,
                                int64_t position,
                                int64_t value,
                                const std::string& bound) {
  throw Error(ErrorCode::kCorrupt, place + ", entry " + std::to_string(position) + ": " +
                                       std::to_string(value) + " " + bound);
}

// Reads one row's bounds; whatever the file holds, the result lies inside the edges.
Row read_row(const EdgeType& edges, const int64_t* indptr, int64_t node) {
  const int64_t begin = indptr[node], end = indptr[node + 1];
  const int64_t num_edges = edges.num_edges();
  if (static_cast<uint64_t>(end) > static_cast<uint64_t>(num_edges)) {
    corrupt_entry(edges.indptr_place, node + 1, end,
                  "is outside [0, " + std::to_string(num_edges) + "]");
  }
  if (static_cast<uint64_t>(begin) > static_cast<uint64_t>(end)) {
    corrupt_entry(edges.indptr_place, node, begin,
                  "is outside [0, " + std::to_string(end) + "], the end of the row");
  }
  return {begin, end - begin};
}

// Calls body with the ids of an array that is being written.
template <typename Body>
void with_mutable_ids(const Array& ids, Body&& body) {
  if (ids.dtype == DType::kInt32) return body(static_cast<int32_t*>(ids.data));
  return body(static_cast<int64_t*>(ids.data));
}

// Rows [begin, end) of the destinations.
struct Chunk {
  int64_t begin, end;
};

template <typename Id>
class RelationSampler {
 public:
  RelationSampler(const RelationTask<Id>& task, RelationScratch<Id>& scratch)
      : task_(task), rows_(scratch.rows), sources_(scratch.sources) {}

  Relation sample(BufferPool& pool, int threads) {
    relation_.indptr = pool.allocate_array(DType::kInt64, {task_.num_dst + 1});
    indptr_ = static_cast<int64_t*>(relation_.indptr.data);
    read_rows(threads);
    allocate_picks(pool);
    if (indptr_[task_.num_dst] == 0) return std::move(relation_);
    if (threads == 1) {
      run_pipeline({0, task_.num_dst}, [&](const Chunk& chunk) { relabel(chunk); });
    } else {
      parallel_for(task_.num_dst, kGrain, threads, [&](int64_t begin, int64_t end) {
        run_pipeline({begin, end}, [](const Chunk&) {});
      });
      for_each_chunk({0, task_.num_dst}, [&](const Chunk& chunk) { relabel(chunk); });
    }
    return std::move(relation_);
  }

 private:
  // The rows' bounds, and how many picks each gives, summed up to offsets.
  void read_rows(int threads) {
    const int64_t num_dst = task_.num_dst;
    if (task_.rule.fanout == 0) {
      std::fill_n(indptr_, num_dst + 1, 0);
      return;
    }
    rows_.resize(std::max(rows_.size(), static_cast<size_t>(num_dst)));
    const int64_t* stored = task_.edges.indptr.template as<int64_t>().data();
    const Id* node = task_.destinations.ids().data();
    parallel_for(num_dst, kGrain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i + kPrefetch < end) request(&stored[node[i + kPrefetch]]);
        const Row row = read_row(task_.edges, stored, node[i]);
        rows_[static_cast<size_t>(i)] = row;
        indptr_[i + 1] = num_picks(task_.rule, row.degree);
      }
    });
    indptr_[0] = 0;
    for (int64_t i = 0; i < num_dst; ++i) {
      if (__builtin_add_overflow(indptr_[i + 1], indptr_[i], &indptr_[i + 1]) ||
          indptr_[i + 1] > kMaxPicks) {
        refuse_picks();
      }
    }
  }

  [[noreturn]] void refuse_picks() const {
    throw Error(ErrorCode::kInvalidArgument, "a fanout of " + std::to_string(task_.rule.fanout) +
                                                 " for " + std::to_string(task_.num_dst) +
                                                 " destinations of edge type '" +
                                                 task_.edges.encoded + "' gives more than " +
                                                 std::to_string(kMaxPicks) + " edges");
  }

  void allocate_picks(BufferPool& pool) {
    const int64_t num_edges = indptr_[task_.num_dst];
    const bool narrow = task_.edges.num_edges() <= std::numeric_limits<int32_t>::max();
    relation_.position = pool.allocate_array(narrow ? DType::kInt32 : DType::kInt64, {num_edges});
    relation_.indices = pool.allocate_array(DType::kInt32, {num_edges});
    sources_.resize(std::max(sources_.size(), static_cast<size_t>(num_edges)));
    task_.sources.reserve_more(static_cast<size_t>(std::min(num_edges, task_.num_src_nodes)));
  }

  // Calls body with chunks that cover `rows`: a bounded number of rows, and of picks unless one row
  // alone has more.
  template <typename Body>
  void for_each_chunk(const Chunk& rows, Body&& body) const {
    for (int64_t begin = rows.begin; begin < rows.end;) {
      const int64_t last = std::min(begin + kChunkRows, rows.end);
      int64_t end = begin + 1;
      while (end < last && indptr_[end + 1] - indptr_[begin] <= kChunkPicks)
        ++end;
      body(Chunk{begin, end});
      begin = end;
    }
  }

  // Picks a chunk, loads the one before, and hands the one before that to `finish`.
  template <typename Finish>
  void run_pipeline(const Chunk& rows, Finish&& finish) {
    const auto first = static_cast<size_t>(rows.begin);
    const auto count = static_cast<size_t>(rows.end - rows.begin);
    RowPicker<Id> picker(task_.rule, task_.hop_key, task_.destinations.ids().subspan(first, count),
                         std::span<const Row>(rows_).subspan(first, count));
    Chunk picked{rows.begin, rows.begin}, loaded = picked;
    const auto advance = [&] {
      load(picked);
      finish(loaded);
      loaded = picked;
    };
    for_each_chunk(rows, [&](const Chunk& chunk) {
      pick(picker, rows.begin, chunk);
      advance();
      picked = chunk;
    });
    advance();
    finish(loaded);
  }

  void pick(RowPicker<Id>& picker, int64_t first_row, const Chunk& chunk) {
    const Array& indices = task_.edges.indices;
    const auto* stored = static_cast<const char*>(indices.data);
    const int64_t width = item_size(indices.dtype);
    with_mutable_ids(relation_.position, [&](auto* position) {
      auto* out = position + indptr_[chunk.begin];
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        picker.pick(static_cast<size_t>(i - first_row), [&](int64_t p) {
          request(stored + p * width);
          *out++ = static_cast<std::decay_t<decltype(*out)>>(p);
        });
      }
    });
  }

  void load(const Chunk& chunk) {
    const int64_t begin = indptr_[chunk.begin], end = indptr_[chunk.end];
    const auto bound = static_cast<uint64_t>(task_.num_src_nodes);
    with_ids(relation_.position, [&](auto position) {
      with_ids(task_.edges.indices, [&](auto stored) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          const auto id = stored[static_cast<size_t>(position[i])];
          if (static_cast<uint64_t>(id) >= bound) refuse_source(position[i], id);
          sources_[i] = static_cast<Id>(id);
        }
      });
    });
    task_.sources.request(picked_ids(chunk));
  }

  [[noreturn]] void refuse_source(int64_t position, int64_t id) const {
    corrupt_entry(task_.edges.indices_place, position, id,
                  "is outside [0, " + std::to_string(task_.num_src_nodes) + ")");
  }

  // In pieces, since one row alone may bring more nodes than a batch can have.
  void relabel(const Chunk& chunk) {
    auto* local = static_cast<int32_t*>(relation_.indices.data) + indptr_[chunk.begin];
    const std::span<const Id> ids = picked_ids(chunk);
    for (size_t begin = 0; begin < ids.size(); begin += kPiece) {
      const size_t count = std::min(kPiece, ids.size() - begin);
      task_.sources.relabel(ids.subspan(begin, count), local + begin);
      if (task_.sources.ids().size() > kMaxNodes) refuse_nodes();
    }
  }

  [[noreturn]] static void refuse_nodes() {
    throw Error(ErrorCode::kInvalidArgument,
                "a batch has more than " + std::to_string(kMaxNodes) +
                    " nodes of one type; use a smaller batch_size or smaller fanouts");
  }

  [[nodiscard]] std::span<const Id> picked_ids(const Chunk& chunk) const {
    return {sources_.data() + indptr_[chunk.begin],
            static_cast<size_t>(indptr_[chunk.end] - indptr_[chunk.begin])};
  }

  const RelationTask<Id>& task_;
  std::vector<Row>& rows_;
  std::vector<Id>& sources_;
  Relation relation_;
  int64_t* indptr_ = nullptr;  // of relation_
};

}  // namespace

template <typename Id>
Relation sample_relation(const RelationTask<Id>& task,
                         RelationScratch<Id>& scratch,
                         BufferPool& pool,
                         int threads) {
  return RelationSampler<Id>(task, scratch).sample(pool, threads);
}

template Relation sample_relation(const RelationTask<int32_t>&,
                                  RelationScratch<int32_t>&,
                                  BufferPool&,
                                  int);
template Relation sample_relation(const RelationTask<int64_t>&,
                                  RelationScratch<int64_t>&,
                                  BufferPool&,
                                  int);

}  // namespace ramet
