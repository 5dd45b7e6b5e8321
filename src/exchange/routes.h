// Routes: ids in the order of the ranks that own them. A counting sort, stable, so that ids of one
// rank keep their order.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/grow_array.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/ownership.h"

namespace ramet {

template <typename Id>
class Routes {
 public:
  // `ids` are nodes of the type that `ownership` is of.
  void build(std::span<const Id> ids, const Ownership& ownership, BufferPool& pool);

  // How many ids each rank owns.
  [[nodiscard]] std::span<const int64_t> counts() const { return counts_; }
  // The ids, those of rank 0 first.
  [[nodiscard]] std::span<const Id> ids() const { return sorted_.as<Id>(); }
  [[nodiscard]] Array take_ids() { return std::exchange(sorted_, {}); }
  // place()[i] is where ids[i] stands among them.
  [[nodiscard]] std::span<const int32_t> place() const { return {place_.data(), size_}; }

 private:
  size_t size_ = 0;
  GrowArray<uint16_t> owner_;
  std::vector<int64_t> counts_;
  Array sorted_;
  GrowArray<int32_t> place_;
};

}  // namespace ramet
