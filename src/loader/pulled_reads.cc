#include "pulled_reads.h"

#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace ramet {
namespace {

// out[at[i]] = rows[i].
void place_rows(const Array& rows, const std::vector<int64_t>& at, const Array& out) {
  const auto bytes = static_cast<size_t>(out.row_bytes());
  for (size_t i = 0; i < at.size(); ++i)
    std::memcpy(static_cast<char*>(out.data) + static_cast<size_t>(at[i]) * bytes,
                static_cast<const char*>(rows.data) + i * bytes, bytes);
}

Array copy_of(const std::vector<int64_t>& values, BufferPool& pool) {
  return copy(borrow(std::span<const int64_t>(values)), pool);
}

}  // namespace

PulledReads::PulledReads(std::shared_ptr<const LoaderParts> parts)
    : parts_(std::move(parts)),
      // Also without the caches: ranks submit the same tasks, whichever of them have these.
      window_(parts_->pulled_caches->window()),
      announced_(parts_->sources.size()) {
  std::optional<TableCaches::Caches> borrowed = parts_->pulled_caches->borrow();
  has_caches_ = borrowed.has_value();
  if (has_caches_) caches_ = std::move(*borrowed);
}

PulledReads::~PulledReads() {
  leave();
}

void PulledReads::leave() noexcept {
  if (!std::exchange(has_caches_, false)) return;
  if (is_used_) caches_.clear();  // what they have is up to timing
  parts_->pulled_caches->give_back(std::exchange(caches_, {}));
}

void PulledReads::announce(const Batch& batch) {
  is_used_ = true;
  for (size_t i = 0; i < caches_.size(); ++i) {
    if (caches_[i] == nullptr) continue;
    announced_[i].push_back(split(batch, i));
    caches_[i]->announce(announced_[i].back().far);
  }
}

void PulledReads::pull(Batch* batch, const Exchange& exchange) {
  const ReadContext context{.pool = parts_->pool, .exchange = &exchange};
  const std::vector<TableRequest>& requests = parts_->options.tables;
  if (batch != nullptr) batch->tables.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const TableRequest& request = requests[i];
    if (!request.is_pulled()) continue;
    if (batch == nullptr) {
      const Array none = parts_->pool->allocate_array(DType::kInt64, {0});
      static_cast<void>(parts_->sources[i]->submit(none, context));
    } else if (!caches_.empty() && caches_[i] != nullptr) {
      batch->tables[i] = pull_through(*caches_[i], i, context, *batch);
    } else {
      const Array ids = rows_of(*parts_->graph, request, batch->minibatch, *parts_->pool);
      batch->tables[i] = parts_->sources[i]->submit(ids, context)->complete().rows;
      if (parts_->pulled_caches->has_cache(i)) batch->cache.misses += split(*batch, i).far.rows();
    }
  }
}

void PulledReads::finish() {
  if (std::exchange(has_caches_, false))
    parts_->pulled_caches->give_back(std::exchange(caches_, {}));
}

PulledReads::Split PulledReads::split(const Batch& batch, size_t table) const {
  const TableRequest& request = parts_->options.tables[table];
  const Array ids = rows_of(*parts_->graph, request, batch.minibatch, *parts_->pool);
  std::vector<NodeRange> reached;
  for (size_t part = 0; part < request.reached.size(); ++part)
    if (request.reached[part])
      reached.push_back(request.places->places_of(static_cast<int64_t>(part)));
  std::vector<int64_t> far, near;
  Split split;
  const auto places = ids.as<int64_t>();
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t place = places[i];
    bool is_near = false;
    for (const NodeRange& range : reached)
      is_near = is_near || (place >= range.begin && place < range.end);
    (is_near ? near : far).push_back(place);
    (is_near ? split.near_at : split.far_at).push_back(static_cast<int64_t>(i));
  }
  split.far = copy_of(far, *parts_->pool);
  split.near = copy_of(near, *parts_->pool);
  return split;
}

Array PulledReads::pull_through(StreamCache& cache,
                                size_t table,
                                const ReadContext& context,
                                Batch& batch) {
  const Split split = std::move(announced_[table].front());
  announced_[table].pop_front();
  const GatheredRows far = cache.begin(context)->complete();
  const GatheredRows near = parts_->near_sources[table]->submit(split.near, context)->complete();
  batch.cache += far.cache;
  const RowForm& form = parts_->sources[table]->form();
  const auto count = std::ssize(split.far_at) + std::ssize(split.near_at);
  Array rows = parts_->pool->allocate_array(form.dtype, form.shape_of(count));
  place_rows(far.rows, split.far_at, rows);
  place_rows(near.rows, split.near_at, rows);
  return rows;
}

}  // namespace ramet
