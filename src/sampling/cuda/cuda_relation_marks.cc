// The in-edges of a relation that are looked at one by one: which of them times leave, are not
// excluded and have weight, and which are picked.
#include <cstdint>
#include <utility>

#include "cuda_relation_builder.h"

namespace ramet {

void CudaRelationBuilder::filter(CudaRelationScratch& scratch) {
  const int64_t num_words = cuda_mark_words(num_counted_);
  const CudaMarkArgs mark{rows(), num_counted_, fanout_, {}, marks_.reserve(work_, num_words)};
  if (is_unfiltered_) {
    work_.kernels.mark_allowed(work_.device,
                               {.mark = mark,
                                .edges = csc_,
                                .times = has_sorted_times() ? CudaTimes() : times(),
                                .excluded = excluded_,
                                .bad = bad_.row},
                               work_.stream);
  } else {
    work_.kernels.mark_shares(work_.device, mark, {weights_, row_weight_.reserve(work_, num_dst())},
                              work_.stream);
  }
  int64_t* const left = left_offset_.reserve(work_, num_dst() + 1);
  rank(left, scratch);
  CudaRows whole = rows();
  whole.order = {};  // what is left stays in the order of rows
  std::swap(left_position_, whole_position_);
  int64_t* const position = left_position_.reserve(work_, num_counted_);
  work_.kernels.take_marked(work_.device,
                            {.rows = whole,
                             .num_edges = num_counted_,
                             .marks = marks_.data(),
                             .rank = rank_.data(),
                             .positions = {position, true}},
                            work_.stream);
  if (!std::exchange(is_unfiltered_, false)) is_unweighed_ = false;
  position_ = position;
  read_rows({left, nullptr, false, num_counted_, 0}, nullptr, scratch);
}

void CudaRelationBuilder::mark(const CudaDraws& draws,
                               const double* p,
                               CudaRelationScratch& scratch) {
  if (adds_weights()) return add_weights(scratch);
  const int64_t num_words = cuda_mark_words(num_counted_);
  const CudaMarkArgs args{rows(), num_counted_, fanout_, draws, marks_.reserve(work_, num_words)};
  if (std::holds_alternative<Labor>(options_.method)) {
    if (has_shares() && p == nullptr) solve(nullptr, nullptr, true);
    work_.kernels.mark_labor(work_.device,
                             {.mark = args,
                              .edges = csc_,
                              .threshold = threshold_.reserve(work_, num_dst()),
                              .importance = importance(p)},
                             work_.stream);
  } else if (weights_.data != nullptr || options_.dependent > 1 || takes_last()) {
    mark_smallest(args);
  } else {
    work_.fill(args.marks, 0, num_words * int64_t{sizeof(uint32_t)});
    work_.kernels.mark_floyd(work_.device, args, work_.stream);
  }
  rank(picks_before(), scratch);
  place_rows(scratch);
}

// Of LABOR; `p` of LABOR-i or nullptr.
CudaImportance CudaRelationBuilder::importance(const double* p) const {
  const double* const share = has_shares() ? share_.data() : nullptr;
  if (p != nullptr) return {p, candidate_.data(), c_.data(), share};
  return {share, nullptr, c_.data(), share};
}

void CudaRelationBuilder::mark_smallest(const CudaMarkArgs& args) {
  uint64_t* number = number_.reserve(work_, num_counted_);
  CudaDrawn* drawn = nullptr;
  if (const CudaTries of_rows = tries(args.draws.keys); of_rows.weights.data != nullptr) {
    drawn = drawn_.reserve(work_, num_dst());
    work_.kernels.number_tries(work_.device, {of_rows, drawn, number}, work_.stream);
  }
  work_.kernels.number_edges(
      work_.device, {args, csc_, weights_, takes_last() ? times() : CudaTimes(), drawn, number},
      work_.stream);
  work_.kernels.mark_smallest(work_.device,
                              {.mark = args,
                               .number = number,
                               .are_weighted = weights_.data != nullptr,
                               .takes_last = takes_last(),
                               .limit = limit_.reserve(work_, num_dst())},
                              work_.stream);
}

CudaTries CudaRelationBuilder::tries(const DrawKeys& keys) const {
  if (!std::holds_alternative<Weighted>(options_.method) || options_.dependent > 1) return {};
  return {rows(), csc_.indptr, weights_, fanout_, adds_weights(), keys};
}

void CudaRelationBuilder::add_weights(CudaRelationScratch& scratch) {
  work_.kernels.sum_weights(work_.device,
                            {.rows = rows(),
                             .weights = weights_,
                             .fanout = fanout_,
                             .most = kCudaMaxEdges,
                             .sums = sums_.reserve(work_, num_counted_),
                             .picks_before = picks_before(),
                             .scan = scratch.sums.reserve(work_, num_dst())},
                            work_.stream);
  place_rows(scratch);
}

void CudaRelationBuilder::rank(int64_t* marks_before, CudaRelationScratch& scratch) {
  const int64_t num_blocks = cuda_mark_blocks(num_counted_);
  work_.kernels.rank(work_.device,
                     {.marks = marks_.data(),
                      .num_edges = num_counted_,
                      .rank = rank_.reserve(work_, num_blocks + 1),
                      .offset = offset_,
                      .num_dst = num_dst(),
                      .marks_before = marks_before,
                      .scan = scratch.sums.reserve(work_, num_blocks)},
                     work_.stream);
}

void CudaRelationBuilder::set_accepted(int64_t count) {
  num_edges_ = count;
  if (!adds_weights()) return;
  offset_ = picks_before();
  find_first_rows(offset_, count);
}

void CudaRelationBuilder::take_marked(const Labor* labor, const double* p) {
  float* weight = nullptr;
  const bool normalized = labor == nullptr || labor->weights == Weights::kNormalized;
  const CudaImportance known = importance(p);
  if (known.p != nullptr || !normalized) {
    relation_.edge_weight = work_.allocate(DType::kFloat32, num_edges_);
    weight = static_cast<float*>(relation_.edge_weight.data);
  }
  work_.kernels.take_marked(
      work_.device,
      {.rows = rows(),
       .num_edges = num_counted_,
       .marks = marks_.data(),
       .rank = rank_.data(),
       .positions = positions_,
       .weight = weight,
       .fanout = fanout_,
       .importance = known,
       .indptr = indptr(),
       .term = known.p != nullptr && normalized ? term_.reserve(work_, num_edges_) : nullptr},
      work_.stream);
}

}  // namespace ramet
