#include "pulled_rows.h"

#include <utility>

namespace ramet {

class PulledRows::Read final : public RowRead {
 public:
  Read(const PulledRows& owner, const Array& ids, const ReadContext& context)
      : owner_(owner),
        pull_(ids.as<int64_t>(), owner.positions_, owner.is_local_, owner.rows_.form(false)),
        pool_(context.pool),
        count_(ids.rows()),
        threads_(context.threads) {}

  // Messages stay in the thread of the group, whose memory they are of.
  void exchange(const Exchange& exchange) {
    const Table& table = owner_.rows_;
    const NodeRange own = owner_.positions_.positions_of(owner_.rank_);
    const Message requests = exchange(pull_.requests());
    const Message answers = exchange(RowPull::answer(requests, table, own, threads_));
    rows_ = pool_->allocate_array(owner_.form().dtype, owner_.form().shape_of(count_));
    pull_.finish(answers, table.rows(), rows_, threads_);
  }

  GatheredRows complete() override { return {.rows = std::move(rows_), .cache = {}}; }

 private:
  const PulledRows& owner_;
  const RowPull pull_;
  const std::shared_ptr<BufferPool> pool_;
  const int64_t count_;
  const int threads_;
  Array rows_;
};

std::vector<NodeRange> PulledRows::local_ranges() const {
  std::vector<NodeRange> ranges;
  for (size_t part = 0; part < is_local_.size(); ++part)
    if (is_local_[part]) ranges.push_back(positions_.positions_of(static_cast<int64_t>(part)));
  return ranges;
}

std::unique_ptr<RowRead> PulledRows::submit(const Array& ids, const ReadContext& context) const {
  auto read = std::make_unique<Read>(*this, ids, context);
  context.exchanges->push_back(
      [read = read.get()](const Exchange& exchange) { read->exchange(exchange); });
  return read;
}

}  // namespace ramet
