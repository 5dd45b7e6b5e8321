#include "ramet/optimizer.h"
#include "ramet/record_table.h"

namespace ramet {

void apply_gradients(const OptimizerStep& step,
                     RecordTable& records,
                     std::span<const RowList> gradients,
                     int threads) {
  std::vector<std::span<const int64_t>> lists;
  for (const RowList& list : gradients)
    lists.push_back(list.ids);
  records.update(lists, [&](const HeldRecords& held) {
    std::vector<RowList> in_slots;
    for (size_t i = 0; i < gradients.size(); ++i)
      in_slots.push_back({held.slots[i], gradients[i].rows});
    OptimizerStep of_slots = step;
    of_slots.row_ids = held.row_ids;
    const Array& weights = held.columns.front();
    apply_gradients(of_slots, weights, std::span(held.columns).subspan(1), in_slots, 0,
                    weights.rows(), threads);
  });
  records.set_last_step(step.number);
}

}  // namespace ramet
