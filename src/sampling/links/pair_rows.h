// PairIndex: whether pairs of nodes are edges, by bisection of sorted rows. A row of d edges takes
// log d reads, of which the first misses the cache, and which a caller requests ahead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "base/sorted_search.h"
#include "edge_finder.h"
#include "kernels/pair_rules.h"
#include "ramet/negatives.h"
#include "sampling/rows.h"

namespace ramet {

// Which edges count for a pair: up to its time, or at it.
enum class When : uint8_t { kByThen, kThen };

class PairIndex {
 public:
  // Throws kNotFound and kInvalidArgument for a table that is missing or of another dtype.
  explicit PairIndex(const PairRows& rows);

  // Of the node whose row is read, and of the node that is looked for in it.
  [[nodiscard]] int64_t num_rows() const { return edges_->indptr.rows() - 1; }
  [[nodiscard]] bool by_source() const { return by_source_; }

  void request_row(int64_t source, int64_t destination) const {
    prefetch(&indptr_[by_source_ ? source : destination]);
  }
  // Reads the bounds that were requested, and requests the middle.
  [[nodiscard]] Row row(int64_t source, int64_t destination) const {
    const Row row = read_row(*edges_, indptr_, by_source_ ? source : destination);
    prefetch(static_cast<const char*>(edges_->indices.data) +
             (row.begin + row.degree / 2) * item_size(edges_->indices.dtype));
    return row;
  }
  // Whether the row of the pair has an edge between them, as `when` says of its time and `time`.
  [[nodiscard]] bool has(const Row& row,
                         int64_t source,
                         int64_t destination,
                         int64_t time,
                         When when = When::kByThen) const {
    return has_edge(*this, row, by_source_ ? destination : source, time, when == When::kThen);
  }
  // Calls body(i) for each pair that is an edge, and is there by times[i]. times: or none.
  template <typename Body>
  void for_each_edge(std::span<const int64_t> sources,
                     std::span<const int64_t> destinations,
                     std::span<const int64_t> times,
                     Body&& body) const {
    std::vector<SortedSearch> searches = by_source_
                                             ? searches_of_rows(*edges_, sources, destinations)
                                             : searches_of_rows(*edges_, destinations, sources);
    search_sorted(edges_->indices, {0, num_others_}, searches);
    with_ids(edges_->indices, [&](auto ids) {
      for (size_t i = 0; i < searches.size(); ++i) {
        const SortedSearch& search = searches[i];
        auto at = static_cast<size_t>(search.begin);
        const auto is_wanted = [&] {
          return at < static_cast<size_t>(search.end) && ids[at] == search.wanted;
        };
        if (times_ != nullptr && !times.empty())
          while (is_wanted() && times_[at] > times[i])
            ++at;
        if (is_wanted()) body(i);
      }
    });
  }
  // The node that an entry of a row names: kCorrupt for none of the `num_nodes`.
  [[nodiscard]] int64_t node_at(const Row& row, int64_t number, int64_t num_nodes) const;
  // What a row names, unchecked, and the time of an edge.
  [[nodiscard]] int64_t entry(int64_t position) const {
    return entries_[static_cast<size_t>(position)];
  }
  [[nodiscard]] bool has_times() const { return times_ != nullptr; }
  [[nodiscard]] int64_t time(int64_t position) const { return times_[position]; }

 private:
  const EdgeType* edges_;
  const int64_t* indptr_;
  IdSpan entries_;
  int64_t num_others_;  // nodes that rows may name
  bool by_source_;
  const int64_t* times_ = nullptr;
};

}  // namespace ramet
