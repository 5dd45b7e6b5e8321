#include "seed_source.h"

namespace ramet {

std::vector<Seeds> SeedList::view() const {
  std::vector<Seeds> seeds;
  for (const OfType& of_type : types)
    seeds.push_back({.type = of_type.type, .ids = of_type.ids, .times = of_type.times});
  return seeds;
}

std::vector<ExcludedEdges> SeedList::view_excluded() const {
  std::vector<ExcludedEdges> edges;
  for (const Excluded& of_type : excluded)
    edges.push_back({.edge_type = of_type.edge_type, .positions = of_type.positions});
  return edges;
}

void begin_batch(const SeedSource& seeds,
                 const BatchPlan& plan,
                 int64_t epoch,
                 int64_t step,
                 BufferPool& pool,
                 Batch& batch) {
  batch.epoch = epoch;
  batch.step = step;
  batch.global_num_seeds = plan.global_size(step);
  const std::vector<int64_t> items = plan.items(epoch, step);
  batch.input_id = copy(borrow(std::span(items)), pool);
  if (!seeds.needs_global_items()) return;
  batch.global_items = plan.global_items(epoch, step);
  batch.first_item = plan.slice(step).begin;
}

std::vector<int64_t> rows_at(const Array& ids, std::span<const int64_t> items) {
  const auto width = static_cast<size_t>(ids.shape.size() == 1 ? 1 : ids.shape[1]);
  std::vector<int64_t> rows;
  rows.reserve(items.size() * width);
  with_ids(ids, [&](auto all) {
    for (const int64_t item : items) {
      const auto row = all.begin() + item * static_cast<int64_t>(width);
      rows.insert(rows.end(), row, row + static_cast<int64_t>(width));
    }
  });
  return rows;
}

}  // namespace ramet
