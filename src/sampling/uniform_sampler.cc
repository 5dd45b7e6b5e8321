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
#include "uniform_sampler.h"

#include <algorithm>
#include <span>

#include "base/parallel.h"
#include "base/prefetch.h"
#include "row_picker.h"
#include "rows_in_time.h"
#include "sorted_times.h"

namespace ramet {
namespace {

constexpr int64_t kChunkRows = 128;    // rows of a chunk, at most
constexpr int64_t kChunkPicks = 1024;  // picks of a chunk, where its rows have that few
constexpr int64_t kGrain = 4096;       // rows that one thread takes at a time

// Rows [begin, end) of the destinations.
struct Chunk {
  int64_t begin, end;
};

template <typename Id>
class UniformSampler {
 public:
  UniformSampler(const RelationTask<Id>& task,
                 const UniformDraws& draws,
                 UniformScratch<Id>& scratch,
                 BufferPool& pool)
      : task_(task),
        draws_(draws),
        rule_{task.fanout, draws.replace},
        checks_times_(task.times != nullptr && known_order(*task.times) == nullptr),
        rows_(scratch.rows),
        sources_(scratch.sources),
        shortened_(scratch.shortened),
        relation_(task, pool),
        indptr_(relation_.indptr()) {}

  Relation sample(int threads) {
    read_rows(threads);
    shorten_rows();
    const int64_t num_edges = relation_.allocate();
    if (num_edges == 0) return relation_.take();
    sources_.resize(std::max(sources_.size(), static_cast<size_t>(num_edges)));
    if (threads == 1) {
      run_pipeline({0, task_.num_dst()}, [&](const Chunk& chunk) { relabel(chunk); });
    } else {
      parallel_for(task_.num_dst(), kGrain, threads, [&](int64_t begin, int64_t end) {
        run_pipeline({begin, end}, [](const Chunk&) {});
      });
      for_each_chunk({0, task_.num_dst()}, [&](const Chunk& chunk) { relabel(chunk); });
    }
    return relation_.take();
  }

 private:
  // The rows' bounds, and how many picks each gives.
  void read_rows(int threads) {
    if (task_.fanout == 0) {
      std::fill_n(indptr_, task_.num_dst() + 1, 0);
      return;
    }
    rows_.resize(std::max(rows_.size(), static_cast<size_t>(task_.num_dst())));
    parallel_for(task_.num_dst(), kGrain, threads, [&](int64_t begin, int64_t end) {
      for_each_dst_row(task_, begin, end, [&](int64_t i, const Row& row) {
        rows_[static_cast<size_t>(i)] = row;
        indptr_[i + 1] = num_picks(rule_, row.degree);
      });
      if (task_.times != nullptr) narrow_rows(begin, end);
    });
  }

  void narrow_rows(int64_t begin, int64_t end) {
    narrow_to_times(
        task_, begin,
        std::span(rows_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    for (int64_t i = begin; i < end; ++i)
      indptr_[i + 1] = num_picks(rule_, rows_[static_cast<size_t>(i)].degree);
  }

  // Takes the excluded edges out. Picks are positions of the shorter rows until restore().
  void shorten_rows() {
    shortened_.clear();
    if (task_.excluded == nullptr || task_.fanout == 0) return;
    for (int64_t i = 0; i < task_.num_dst(); ++i) {
      Row& row = rows_[static_cast<size_t>(i)];
      const auto excluded = task_.excluded_in(row);
      if (excluded.empty()) continue;
      shortened_.push_back({i, RemainingNumbers(row, excluded)});
      row.degree -= std::ssize(excluded);
      indptr_[i + 1] = num_picks(rule_, row.degree);
    }
  }

  // Where few edges are excluded, vectors of picks step over one after the other.
  template <typename Position>
  void restore(const Chunk& chunk, Position* position) const {
    constexpr size_t kFew = 16;
    const auto before = [](const ShortenedRow& row, int64_t i) { return row.destination < i; };
    auto row = std::lower_bound(shortened_.begin(), shortened_.end(), chunk.begin, before);
    for (; row != shortened_.end() && row->destination < chunk.end; ++row) {
      const int64_t i = row->destination, first = rows_[static_cast<size_t>(i)].begin;
      const std::span<Position> picks(position + indptr_[i], position + indptr_[i + 1]);
      if (row->numbers.excluded().size() <= kFew) {
        for (const int64_t excluded : row->numbers.excluded()) {
          for (Position& p : picks)
            p = static_cast<Position>(p + (p >= static_cast<Position>(excluded) ? 1 : 0));
        }
      } else {
        for (Position& p : picks)
          p = static_cast<Position>(first + row->numbers[p - first]);
      }
    }
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
    RowPicker picker(rule_, draws_.hop_keys, task_.dst_nodes().subspan(first, count),
                     std::span<const Row>(rows_).subspan(first, count));
    Chunk picked{rows.begin, rows.begin}, loaded = picked;
    int64_t ahead = rows.begin;
    const auto read_to = [&](int64_t end) {
      const std::span<const Row> further(rows_.data() + ahead, rows_.data() + end);
      read_ahead_rows(task_.edges, further, task_.fanout);
      ahead = end;
    };
    const auto finish_loaded = [&] {
      if (checks_times_) check_times(loaded);
      finish(loaded);
    };
    const auto advance = [&] {
      load(picked);
      if (checks_times_) request_times(picked);
      finish_loaded();
      loaded = picked;
    };
    for_each_chunk(rows, [&](const Chunk& chunk) {
      read_to(std::min(chunk.end + kRowsReadAhead, rows.end));
      pick(picker, rows.begin, chunk);
      advance();
      picked = chunk;
    });
    advance();
    finish_loaded();
  }

  void pick(RowPicker& picker, int64_t first_row, const Chunk& chunk) {
    const Array& indices = task_.edges.indices;
    const auto* stored = static_cast<const char*>(indices.data);
    const int64_t width = item_size(indices.dtype);
    with_mutable_ids(relation_.position(), [&](auto* position) {
      auto* out = position + indptr_[chunk.begin];
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        picker.pick(static_cast<size_t>(i - first_row), [&](int64_t p) {
          prefetch(stored + p * width);
          *out++ = static_cast<std::decay_t<decltype(*out)>>(p);
        });
      }
      restore(chunk, position);
    });
  }

  void load(const Chunk& chunk) {
    const int64_t begin = indptr_[chunk.begin], end = indptr_[chunk.end];
    const auto bound = static_cast<uint64_t>(task_.num_src_nodes);
    with_ids(relation_.position(), [&](auto position) {
      with_ids(task_.edges.indices, [&](auto stored) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          const auto id = stored[static_cast<size_t>(position[i])];
          if (static_cast<uint64_t>(id) >= bound)
            throw_bad_source(task_.edges, position[i], id, task_.num_src_nodes);
          sources_[i] = static_cast<Id>(id);
        }
      });
    });
    const std::span<Id> picked(sources_.data() + begin, static_cast<size_t>(end - begin));
    relation_.make_keys(begin, picked);
    relation_.request(picked);
  }

  // Calls body(destination, entry) for each pick of a loaded chunk, whose time is `entry` of times.
  template <typename Body>
  void for_each_time(const Chunk& chunk, Body&& body) const {
    const bool of_edges = task_.times->of_edges != nullptr;
    with_ids(relation_.position(), [&](auto position) {
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        for (auto e = static_cast<size_t>(indptr_[i]); e < static_cast<size_t>(indptr_[i + 1]); ++e)
          body(i, of_edges ? int64_t{position[e]} : task_.source_keys->id(sources_[e]));
      }
    });
  }

  void request_times(const Chunk& chunk) const {
    for_each_time(
        chunk, [times = task_.times->data()](int64_t, int64_t entry) { prefetch(times + entry); });
  }

  void check_times(const Chunk& chunk) const {
    for_each_time(chunk, [&, times = task_.times->data()](int64_t i, int64_t entry) {
      if (!task_.allowed[static_cast<size_t>(i)].contains(times[entry]))
        task_.times->throw_unsorted(entry);
    });
  }

  void relabel(const Chunk& chunk) { relation_.relabel(indptr_[chunk.begin], picked_keys(chunk)); }

  [[nodiscard]] std::span<const Id> picked_keys(const Chunk& chunk) const {
    return {sources_.data() + indptr_[chunk.begin],
            static_cast<size_t>(indptr_[chunk.end] - indptr_[chunk.begin])};
  }

  const RelationTask<Id>& task_;
  const UniformDraws draws_;
  const PickRule rule_;
  const bool checks_times_;  // a store may say falsely that rows are sorted
  std::vector<Row>& rows_;
  std::vector<Id>& sources_;
  std::vector<ShortenedRow>& shortened_;
  RelationBuilder<Id> relation_;
  int64_t* indptr_;  // of relation_
};

}  // namespace

template <typename Id>
Relation sample_uniform(const RelationTask<Id>& task,
                        const UniformDraws& draws,
                        UniformScratch<Id>& scratch,
                        BufferPool& pool,
                        int threads) {
  return UniformSampler<Id>(task, draws, scratch, pool).sample(threads);
}

template Relation sample_uniform(
    const RelationTask<int32_t>&, const UniformDraws&, UniformScratch<int32_t>&, BufferPool&, int);
template Relation sample_uniform(
    const RelationTask<int64_t>&, const UniformDraws&, UniformScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
