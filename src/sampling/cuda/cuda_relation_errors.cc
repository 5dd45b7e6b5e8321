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
  const int64_t begin = work_.read(csc_.indptr + node);
  const int64_t end = work_.read(csc_.indptr + node + 1);
  check_weights_of(checked_row(edges_, node, begin, end));
  throw_corrupt(edges_.indptr_place, "changed while it was read");
}

void CudaRelationBuilder::check_weights_of(const Row& row) const {
  if (weights_.data == nullptr) return;
  const std::string name = weight_table(options_.method);
  const auto check = [&](const auto& weights) {
    for (int64_t x = 0; x < row.degree; ++x)
      (void)checked_weight(weights, row.begin + x, name, edges_);
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

void CudaRelationBuilder::throw_bad_position(int64_t position) const {
  const int64_t id = read_id(csc_.indices, csc_.wide_ids, position);
  throw_bad_source(edges_, position, id, csc_.num_src_nodes);
}

void CudaRelationBuilder::throw_bad_pick(int64_t pick) const {
  throw_bad_position(read_id(positions_.data, positions_.wide, pick));
}

void CudaRelationBuilder::throw_bad_candidate(int64_t row) const {
  const int64_t node = work_.read(dst_nodes() + row);
  const Row found =
      checked_row(edges_, node, work_.read(csc_.indptr + node), work_.read(csc_.indptr + node + 1));
  const auto find_in = [&](const auto* ids) {
    return first_bad_id(work_, ids + found.begin, found.degree, csc_.num_src_nodes);
  };
  const int64_t bad = csc_.wide_ids ? find_in(static_cast<const int64_t*>(csc_.indices))
                                    : find_in(static_cast<const int32_t*>(csc_.indices));
  if (bad == found.degree) throw_corrupt(edges_.indices_place, "changed while it was read");
  throw_bad_position(found.begin + bad);
}

void CudaRelationBuilder::throw_too_many_counted() const {
  if (!is_marked_) throw_too_many_picks();
  throw_invalid(num_dst(), " destinations of edge type '", edges_.encoded, "' have more than ",
                most_counted(),
                " in-edges, all of which sampling looks at; use a smaller batch_size");
}

void CudaRelationBuilder::throw_too_many_picks() const {
  ramet::throw_too_many_picks(edges_, fanout_, num_dst(), kCudaMaxEdges);
}

}  // namespace ramet
