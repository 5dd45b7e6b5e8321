#include "pulled_rows.h"

#include <utility>

namespace ramet {
namespace {

class FinishedRead final : public RowRead {
 public:
  explicit FinishedRead(Array rows) : rows_(std::move(rows)) {}
  GatheredRows complete() override { return {.rows = std::move(rows_), .cache = {}}; }

 private:
  Array rows_;
};

}  // namespace

std::unique_ptr<RowRead> PulledRows::submit(const Array& ids, const ReadContext& context) const {
  const RowPull pull(ids.as<int64_t>(), places_, reached_, rows_.form(false));
  const NodeRange own = places_.places_of(rank_);
  const auto& exchange = *context.exchange;
  const Message requests = exchange(pull.requests());
  const Message answers = exchange(RowPull::answer(requests, rows_, own, context.threads));
  Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids.rows()));
  pull.finish(answers, rows_.rows(), rows, context.threads);
  return std::make_unique<FinishedRead>(std::move(rows));
}

}  // namespace ramet
