#include "routes.h"

#include <algorithm>

namespace ramet {

template <typename Id>
void Routes<Id>::build(std::span<const Id> nodes,
                       const AskedNodes& names,
                       const Ownership& ownership,
                       BufferPool& pool) {
  size_ = nodes.size();
  owner_.reserve(size_, 0);
  sorted_ = pool.allocate_array(kDTypeOf<Id>, {static_cast<int64_t>(size_)});
  positions_.reserve(size_, 0);
  const uint16_t* owner = owner_.data();
  auto* sorted = static_cast<Id*>(sorted_.data);
  if (names.have_trees()) {
    ids_.resize(size_);
    std::transform(nodes.begin(), nodes.end(), ids_.begin(),
                   [&](Id node) { return static_cast<Id>(names.id(node)); });
  }
  ownership.owners(names.have_trees() ? std::span<const Id>(ids_) : nodes, owner_.data());
  counts_.assign(static_cast<size_t>(ownership.parts()), 0);
  for (size_t i = 0; i < size_; ++i)
    ++counts_[owner[i]];
  std::vector<int32_t> next(counts_.size());
  for (size_t rank = 1; rank < next.size(); ++rank)
    next[rank] = next[rank - 1] + static_cast<int32_t>(counts_[rank - 1]);
  for (size_t i = 0; i < size_; ++i) {
    const int32_t position = next[owner[i]]++;
    positions_.data()[i] = position;
    sorted[position] = nodes[i];
  }
}

template <typename Id>
Array Routes<Id>::take_ids(const AskedNodes& names) {
  if (names.have_trees()) {
    auto* const sorted = static_cast<Id*>(sorted_.data);
    std::transform(sorted, sorted + size_, sorted,
                   [&](Id node) { return static_cast<Id>(names.id(node)); });
  }
  return std::exchange(sorted_, {});
}

template class Routes<int32_t>;
template class Routes<int64_t>;

}  // namespace ramet
