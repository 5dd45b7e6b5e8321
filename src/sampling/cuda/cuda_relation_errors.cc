// What is wrong with a relation, read again from where the device read it: the CPU's messages.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_relation_builder.h"
#include "ramet/error.h"
#include "sampling/relation_builder.h"
#include "sampling/rows.h"
#include "sampling/weights.h"

namespace ramet {
namespace {

// The position of the first id that is none of `num_nodes`; `count` where there is none.
template <typename Id>
int64_t first_bad_id(const CudaWork& work, const Id* ids, int64_t count, int64_t num_nodes) {
  std::vector<Id> copied(static_cast<size_t>(count));
  work.copy(copied.data(), ids, count * int64_t{sizeof(Id)});
  work.wait();
  const auto is_bad = [&](Id id) {
    return static_cast<uint64_t>(int64_t{id}) >= static_cast<uint64_t>(num_nodes);
  };
  return std::find_if(copied.begin(), copied.end(), is_bad) - copied.begin();
}

}  // namespace

void CudaRelationBuilder::throw_bad_row(int64_t row) const {
  const int64_t node = work_.read(dst_nodes() + row);
  const int64_t* bounds = csc_.indptr + work_.read(dst_rows() + row);
  check_in_edges(checked_row(edges_, node, work_.read(bounds), work_.read(bounds + 1)), row);
  throw_corrupt(edges_.indptr_location, "changed while it was read");
}

void CudaRelationBuilder::check_in_edges(const Row& row, int64_t i) const {
  std::vector<int64_t> allowed;
  const CudaSpan span = times_ ? work_.read(times().allowed + i) : CudaSpan();
  for (int64_t position = row.begin; position < row.begin + row.degree; ++position) {
    if (!times_ || TimeSpan{span.first, span.last}.contains(time_at(position)))
      allowed.push_back(position);
  }
  if (weights_.data == nullptr) return;
  const std::string name = weight_table(options_.method);
  const auto check = [&](const auto& weights) {
    for (const int64_t position : allowed)
      (void)checked_weight(weights, position, name, edges_);
  };
  const Array& table = edges_.tables.at(name);
  if (weights_.wide)
    check(table.as<double>());
  else
    check(table.as<float>());
}

int64_t CudaRelationBuilder::read_id(const void* ids, bool wide, int64_t i) const {
  if (wide) return work_.read(static_cast<const int64_t*>(ids) + i);
  return work_.read(static_cast<const int32_t*>(ids) + i);
}

int64_t CudaRelationBuilder::checked_source(int64_t position) const {
  const int64_t id = read_id(csc_.indices, csc_.wide_ids, position);
  if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(csc_.num_src_nodes))
    throw_bad_source(edges_, position, id, csc_.num_src_nodes);
  return id;
}

int64_t CudaRelationBuilder::time_at(int64_t position) const {
  return times_->of_edges != nullptr ? times_->of_edges[position]
                                     : times_->of_sources[checked_source(position)];
}

void CudaRelationBuilder::throw_bad_pick(int64_t pick) const {
  const int64_t position = read_id(positions_.data, positions_.wide, pick);
  const int64_t id = checked_source(position);
  if (times_) times_->throw_unsorted(times_->of_edges != nullptr ? position : id);
  throw_corrupt(edges_.indices_location, "changed while it was read");
}

void CudaRelationBuilder::throw_bad_candidate(int64_t row) const {
  const int64_t node = work_.read(dst_nodes() + row);
  const int64_t* bounds = csc_.indptr + work_.read(dst_rows() + row);
  const Row found = checked_row(edges_, node, work_.read(bounds), work_.read(bounds + 1));
  const auto find_in = [&](const auto* ids) {
    return first_bad_id(work_, ids + found.begin, found.degree, csc_.num_src_nodes);
  };
  const int64_t bad = csc_.wide_ids ? find_in(static_cast<const int64_t*>(csc_.indices))
                                    : find_in(static_cast<const int32_t*>(csc_.indices));
  if (bad < found.degree) (void)checked_source(found.begin + bad);
  throw_corrupt(edges_.indices_location, "changed while it was read");
}

void CudaRelationBuilder::throw_too_many_counted() const {
  if (!is_marked_ && !is_unfiltered_) throw_too_many_picks();
  throw_invalid(num_dst(), " destinations of edge type '", edges_.encoded, "' have more than ",
                most_counted(),
                " in-edges, all of which sampling looks at; use a smaller batch_size");
}

void CudaRelationBuilder::throw_too_many_picks() const {
  ramet::throw_too_many_picks(edges_, fanout_, num_dst(), kCudaMaxEdges);
}

}  // namespace ramet
