#include "routes.h"

namespace ramet {

template <typename Id>
void Routes<Id>::build(std::span<const Id> ids, const Ownership& ownership) {
  owner_.resize(ids.size());
  ownership.owners(ids, owner_.data());
  counts_.assign(static_cast<size_t>(ownership.parts()), 0);
  for (const uint16_t owner : owner_)
    ++counts_[owner];
  std::vector<int32_t> next(counts_.size());
  for (size_t rank = 1; rank < next.size(); ++rank)
    next[rank] = next[rank - 1] + static_cast<int32_t>(counts_[rank - 1]);
  sorted_.resize(ids.size());
  place_.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t place = next[owner_[i]]++;
    place_[i] = place;
    sorted_[static_cast<size_t>(place)] = ids[i];
  }
}

template class Routes<int32_t>;
template class Routes<int64_t>;

}  // namespace ramet
