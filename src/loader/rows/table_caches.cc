#include "table_caches.h"

#include <algorithm>
#include <utility>

namespace ramet {

TableCaches::TableCaches(std::vector<MakeStreamCache> makers) : makers_(std::move(makers)) {
  Caches caches = make();
  for (const auto& cache : caches) {
    if (cache == nullptr) continue;
    window_ = std::max(window_, cache->window());
    memory_bytes_ += cache->memory_bytes();
  }
  shelf_.get().caches = std::move(caches);
}

std::optional<TableCaches::Caches> TableCaches::borrow() const {
  Shelf& shelf = shelf_.get();
  const std::lock_guard lock(shelf.mutex);
  if (shelf.is_borrowed) return std::nullopt;
  Caches caches = shelf.caches.empty() ? make() : std::exchange(shelf.caches, {});
  shelf.is_borrowed = true;
  return caches;
}

void TableCaches::give_back(Caches caches) const {
  const bool are_intact = std::all_of(caches.begin(), caches.end(), [](const auto& cache) {
    return cache == nullptr || cache->is_intact();
  });
  if (!are_intact) caches.clear();  // before the next are made
  Shelf& shelf = shelf_.get();
  const std::lock_guard lock(shelf.mutex);
  shelf.caches = std::move(caches);
  shelf.is_borrowed = false;
}

TableCaches::Caches TableCaches::make() const {
  Caches caches;
  for (const MakeStreamCache& make_one : makers_)
    caches.push_back(make_one ? make_one() : nullptr);
  return caches;
}

}  // namespace ramet
