#include "table_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "loader/loader_parts.h"
#include "loader/sources/batch_source.h"
#include "ramet/error.h"
#include "tables/cache/bypass_cache.h"

namespace ramet {

BatchReads::BatchReads(const LoaderParts& parts)
    : parts_(parts),
      ids_(parts.options.tables.size()),
      reads_(parts.options.tables.size()),
      is_cached_(parts.options.tables.size()) {}

void require_none_pulled(const LoaderParts& parts) {
  for (const TableRequest& request : parts.options.tables) {
    if (request.pulled() != nullptr)
      throw_invalid("table '", request.name, "' has rows on other machines, ",
                    "and there is no thread of its group to pull them");
  }
}

void BatchReads::pull(const Exchange& exchange) {
  for (const ExchangeWork& work : exchanges_)
    work(exchange);
}

void pull_nothing(const LoaderParts& parts, const Exchange& exchange) {
  const Array none = parts.pool->allocate_array(DType::kInt64, {0});
  for (size_t i = 0; i < parts.host.sources.size(); ++i) {
    if (parts.options.tables[i].pulled() == nullptr) continue;
    std::vector<ExchangeWork> exchanges;
    const auto read =
        parts.host.sources[i]->submit(none, {.pool = parts.pool, .exchanges = &exchanges});
    for (const ExchangeWork& work : exchanges)
      work(exchange);
  }
}

void BatchReads::complete(const ReadContext& context, const std::atomic<bool>& stop, Batch& batch) {
  batch.tables.resize(reads_.size());
  for (size_t i = 0; i < reads_.size() && !stop.load(); ++i) {
    const RowSource* const source = parts_.host.sources[i].get();
    if (source == nullptr) continue;
    if (reads_[i] == nullptr) {
      ids_[i] = rows_of(*parts_.graph, parts_.options.tables[i], batch.minibatch, *context.pool);
      reads_[i] = source->submit(ids_[i], context);
    }
    GatheredRows gathered = reads_[i]->complete();
    if (parts_.host.caches->has_cache(i) && !is_cached_[i])
      gathered.cache.misses = std::ssize(positions_outside(ids_[i], source->local_ranges()));
    hide_seeds(parts_.options.tables[i], batch.minibatch, gathered.rows);
    batch.tables[i] = std::move(gathered.rows);
    batch.cache += gathered.cache;
    batch.read += gathered.read;
    batch.timings.read_seconds += gathered.read_seconds;
  }
}

void complete(BatchReads* reads,
              const LoaderParts& parts,
              const ReadContext& context,
              const std::atomic<bool>& stop,
              Batch& batch) {
  if (reads != nullptr) return reads->complete(context, stop, batch);
  BatchReads(parts).complete(context, stop, batch);
}

TableReads::TableReads(std::shared_ptr<const LoaderParts> parts) : parts_(std::move(parts)) {
  std::optional<TableCaches::Caches> borrowed = parts_->host.caches->borrow();
  is_first_ = borrowed.has_value();
  if (is_first_) caches_ = std::move(*borrowed);
  for (const auto& cache : caches_)
    if (cache != nullptr) window_ = std::max(window_, cache->window());
}

TableReads::~TableReads() {
  leave();
}

void TableReads::leave() noexcept {
  if (!std::exchange(is_first_, false)) return;
  if (is_used_) caches_.clear();  // what they have is up to timing
  parts_->host.caches->give_back(std::exchange(caches_, {}));
  for (const PrefetchHints& hints : parts_->options.prefetch_hints) {
    try {
      if (is_used_) hints.table->forget();
    } catch (const Error&) {  // in a forked process, whose first batch had the error
    }
  }
}

void TableReads::hint(const Batch& batch) {
  is_used_ = true;
  for (size_t i = 0; i < parts_->options.prefetch_hints.size() && is_first_; ++i) {
    const PrefetchHints& hints = parts_->options.prefetch_hints[i];
    hints.table->announce(batch.minibatch.n_id[static_cast<size_t>(hints.node_type)]);
  }
}

void TableReads::announce(const Batch& batch) {
  is_used_ = true;
  for (size_t i = 0; i < caches_.size(); ++i)
    if (caches_[i] != nullptr && caches_[i]->window() > 0)
      caches_[i]->announce(ids_of(batch, i, *parts_->pool));
}

std::unique_ptr<BatchReads> TableReads::begin(ReadContext context, const Batch& batch) {
  auto reads = std::make_unique<BatchReads>(*parts_);
  context.exchanges = &reads->exchanges_;
  for (size_t i = 0; i < parts_->host.sources.size(); ++i) {
    StreamCache* const cache = cache_of(i);
    if (cache != nullptr) {
      if (cache->window() == 0) cache->announce(ids_of(batch, i, *context.pool));
      reads->reads_[i] = cache->begin(context);
      reads->is_cached_[i] = true;
    } else if (const auto& source = parts_->host.sources[i]; source && source->reads_ahead()) {
      reads->ids_[i] = ids_of(batch, i, *context.pool);
      reads->reads_[i] = source->submit(reads->ids_[i], context);
    }
  }
  return reads;
}

void TableReads::finish() {
  if (std::exchange(is_first_, false)) parts_->host.caches->give_back(std::exchange(caches_, {}));
}

StreamCache* TableReads::cache_of(size_t table) const {
  return caches_.empty() ? nullptr : caches_[table].get();
}

Array TableReads::ids_of(const Batch& batch, size_t table, BufferPool& pool) const {
  return rows_of(*parts_->graph, parts_->options.tables[table], batch.minibatch, pool);
}

void fetch_alone(std::shared_ptr<const LoaderParts> parts,
                 BatchSource& source,
                 const ReadContext& context,
                 Batch& batch) {
  const std::atomic<bool> never{false};
  TableReads reads(std::move(parts));
  reads.announce(batch);
  const std::unique_ptr<BatchReads> begun = reads.begin(context, batch);
  source.fetch(batch, begun.get(), never);
  reads.finish();
}

}  // namespace ramet
