// TableCaches: the caches of a loader in front of its tables, for batches in order. A stream
// borrows them and gives them back at the end of its epoch, so that rows stay for the next one.
//
// While they are borrowed, other streams read without. Caches that come back incomplete, of a
// stream that was left early, are emptied: what it had read by then is up to timing, and the hits
// of later batches must not be. Thread-safe. A forked child has its own, which are empty.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/per_process.h"
#include "tables/cache/stream_cache.h"

namespace ramet {

class TableCaches {
 public:
  // By table; nullptr: of one without a cache.
  using Caches = std::vector<std::unique_ptr<StreamCache>>;

  // Makes the caches, so that too little memory is known now. `makers`: by table, some empty.
  explicit TableCaches(std::vector<MakeStreamCache> makers);

  // The most batches that a cache looks ahead.
  [[nodiscard]] int window() const { return window_; }
  // Of all caches.
  [[nodiscard]] int64_t memory_bytes() const { return memory_bytes_; }
  [[nodiscard]] bool has_any() const { return memory_bytes_ > 0; }
  [[nodiscard]] bool has_cache(size_t table) const { return static_cast<bool>(makers_[table]); }

  // Nothing where another stream has them.
  [[nodiscard]] std::optional<Caches> borrow() const;
  // Those of borrow().
  void give_back(Caches caches) const;

 private:
  struct Shelf {
    std::mutex mutex;
    bool is_borrowed = false;
    Caches caches;  // empty: to be made
  };

  [[nodiscard]] Caches make() const;

  std::vector<MakeStreamCache> makers_;
  int window_ = 0;
  int64_t memory_bytes_ = 0;
  mutable PerProcess<Shelf> shelf_;
};

}  // namespace ramet
