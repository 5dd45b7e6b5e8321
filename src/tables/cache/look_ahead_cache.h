// LookAheadCache: a cache whose next batches are known. It holds the rows whose next use is
// nearest, and behind them, as far as there is room, rows without a use in the window, by class. A
// row that would be the worst of all is not taken in.
//
// Where the window reaches far enough this is Belady's MIN with bypass: no cache has more hits.
// Where it is 0 this is the best static cache that the classes tell of. Of rows that are alike,
// those that are here stay; of these, the one that was used longest ago goes first.
//
// Work: constant per row of a batch, and 256 + window per batch. Memory: 8 bytes per row of the
// table, 4 per row of announced batches (to a power of 2), 16 per slot.
#pragma once

#include <span>
#include <vector>

#include "base/huge_vector.h"
#include "cache_policy.h"
#include "slot_lists.h"

namespace ramet {

// Of each row, from how often rows are used: 0 to 255, steps of at most an eighth. For a node table
// by out-degree: a node is sampled as often as it is the source of edges, roughly.
[[nodiscard]] std::vector<uint8_t> use_classes(std::span<const int64_t> counts);

class LookAheadCache final : public CachePolicy {
 public:
  // `classes`: of each row of the table; those of higher classes are kept rather. Empty: all are
  // alike. kInvalidArgument for another number of classes, and as CachePolicy.
  LookAheadCache(int64_t capacity,
                 int64_t num_rows,
                 int window,
                 std::span<const uint8_t> classes = {});

  [[nodiscard]] int64_t memory_bytes() const override;

 private:
  // What is known of a row's next use: a batch that is announced, or -1 - class where there is
  // none.
  using NextUse = int32_t;
  struct Row {
    int32_t slot;  // -1: not here
    int32_t last;  // position of its last announced use; -1 - class where none is announced
  };

  class Evicted;

  void prepare(int64_t rows) override;
  void look_at(const Array& ids) override;
  void take(const Array& ids, CacheUse& use) override;

  void prefetch_use(const Row& used) const;
  template <typename Ids>
  void link_uses(const Ids& ids);
  template <typename Ids>
  void file_hits(const Ids& ids, CacheUse& use);
  void take_in(CacheUse& use);
  [[nodiscard]] int32_t slot_for(int64_t worth, int64_t& worst, Evicted& evicted);
  [[nodiscard]] static int64_t list_of(NextUse next);
  // The higher, the rather a row is kept: classes, then batches, the nearest last.
  [[nodiscard]] int64_t worth_of(NextUse next) const;
  [[nodiscard]] int64_t list_of_worth(int64_t worth) const;
  [[nodiscard]] Row& row(int64_t id) { return rows_[static_cast<size_t>(id)]; }
  // By position: of all uses that were ever announced, modulo 2^31.
  [[nodiscard]] NextUse& next_use(int64_t position) { return next_uses_[at(position)]; }
  [[nodiscard]] size_t at(int64_t position) const {
    return static_cast<size_t>(position) & (next_uses_.size() - 1);
  }

  HugeVector<Row> rows_;
  HugeVector<NextUse> next_uses_;  // a ring, of announced uses; its size is a power of 2
  int32_t begin_, end_;            // positions of announced uses
  int32_t now_ = 0, ahead_ = 0;    // the batches to be served and announced next, modulo window + 1
  HugeVector<int64_t> row_of_slot_;  // of slots that were filled
  SlotLists lists_;                  // by class, then by batch of next use modulo window + 1
};

}  // namespace ramet
