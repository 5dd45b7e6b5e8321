// Routes: nodes in the order of the ranks that own them. A counting sort, stable, so that nodes of
// one rank keep their order.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "asked_nodes.h"
#include "base/grow_array.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/ownership.h"

namespace ramet {

template <typename Id>
class Routes {
 public:
  // `nodes`: of the type that `names` and `ownership` are of.
  void build(std::span<const Id> nodes,
             const AskedNodes& names,
             const Ownership& ownership,
             BufferPool& pool);

  // How many nodes each rank owns.
  [[nodiscard]] std::span<const int64_t> counts() const { return counts_; }
  // The nodes, those of rank 0 first.
  [[nodiscard]] std::span<const Id> nodes() const { return sorted_.as<Id>(); }
  // Their ids. nodes() is then gone.
  [[nodiscard]] Array take_ids(const AskedNodes& names);
  // By node, as they were given: who owns it.
  [[nodiscard]] std::span<const uint16_t> owners() const { return {owner_.data(), size_}; }
  // positions()[i] is where nodes[i] stands among them.
  [[nodiscard]] std::span<const int32_t> positions() const { return {positions_.data(), size_}; }

 private:
  size_t size_ = 0;
  std::vector<Id> ids_;  // of nodes of trees
  GrowArray<uint16_t> owner_;
  std::vector<int64_t> counts_;
  Array sorted_;
  GrowArray<int32_t> positions_;
};

}  // namespace ramet
