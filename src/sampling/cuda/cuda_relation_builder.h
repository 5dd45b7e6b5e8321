// CudaRelationBuilder: one edge type of one hop on a device, step by step: kernels/cuda_sampling.h
// says what the steps are. Between them the host learns how far the device has got.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda_nodes.h"
#include "cuda_work.h"
#include "kernels/cuda_backend.h"
#include "kernels/cuda_sampling.h"
#include "ramet/cuda_sampler.h"
#include "ramet/row_order.h"
#include "sampling/edge_times.h"
#include "sampling/relation_builder.h"
#include "sampling/rows.h"

namespace ramet {

// What relations need one after the other.
struct CudaRelationScratch {
  CudaScratchArray<int64_t> sources;
  CudaScratchArray<uint32_t> regions;
  CudaSumScratch sums;
  // In-edges that become candidates together, a multiple of kCudaItems: the memory for numbering
  // them does not grow with the in-edges (but in disjoint trees), of which there may be more than a
  // number of 32 bits counts.
  int64_t candidates_at_once = int64_t{1} << 24;
};

// Where a relation's kernels report.
struct CudaBad {
  uint64_t *row, *pick;  // see cuda_sampling.h; of a row also that it has a bad weight
};

class CudaRelationBuilder {
 public:
  // All must outlive it.
  CudaRelationBuilder(const CudaWork& work,
                      const CudaGraph& graph,
                      const SampleOptions& options,
                      size_t edge_type,
                      CudaBad bad,
                      RowOrder order);

  [[nodiscard]] const EdgeType& edges() const { return edges_; }
  [[nodiscard]] int64_t fanout() const { return fanout_; }
  [[nodiscard]] bool is_empty() const { return fanout_ == 0; }
  [[nodiscard]] bool is_marked() const { return is_marked_; }

  // Reads the rows of `destinations`, positions in `nodes`. Afterwards *counted() is the number of
  // picks, or in-edges where is_marked().
  void start(int64_t fanout,
             const CudaNodes& nodes,
             ListRange destinations,
             const CudaExcluded& excluded,
             CudaRelationScratch& scratch);
  // Afterwards, while is_unfiltered(), it is the number of in-edges, whatever their times, whether
  // they are excluded, and, for LABOR, of any weight. filter() leaves out one kind after the other.
  [[nodiscard]] bool is_unfiltered() const { return is_unfiltered_ || is_unweighed_; }
  void filter(CudaRelationScratch& scratch);
  [[nodiscard]] const int64_t* counted() const { return offset_ + num_dst(); }
  [[nodiscard]] int64_t most_counted() const;
  // The host knows it, and that it is not above most_counted().
  void set_counted(int64_t count);

  // The importances of LABOR-i. All sources of in-edges become candidates.
  void add_candidates(CudaNodes& candidates, CudaRelationScratch& scratch);
  // The c of every row; `largest`, by candidate, is at least it afterwards, or with weights at
  // first the probability.
  void solve(const double* p, double* largest, bool is_first);

  // is_marked(): decides about every in-edge, or adds up their weights; `p` of LABOR-i or nullptr.
  // Afterwards *accepted() is the number of edges.
  void mark(const CudaDraws& draws, const double* p, CudaRelationScratch& scratch);
  [[nodiscard]] const int64_t* accepted() const { return indptr() + num_dst(); }
  void set_accepted(int64_t count);

  // Makes the relation: the positions of its edges, their sources and these' local ids.
  void take(const CudaDraws& draws,
            const double* p,
            CudaNodes& sources,
            CudaRelationScratch& scratch);
  // Time::monotonic, once all is known to be good: what the edges leave to those that lead on.
  void narrow_paths(CudaNodes& sources);
  [[nodiscard]] Relation finish() { return std::move(relation_); }

  // kCorrupt, as the CPU has it: destination number `row`, or edge number `pick`, of this relation
  // is not what it must be. kInvalidArgument: a weight of the row is none.
  [[noreturn]] void throw_bad_row(int64_t row) const;
  [[noreturn]] void throw_bad_pick(int64_t pick) const;
  // A candidate of destination number `row`.
  [[noreturn]] void throw_bad_candidate(int64_t row) const;
  // kInvalidArgument: more are counted than most_counted(), or accepted than kCudaMaxEdges.
  [[noreturn]] void throw_too_many_counted() const;
  [[noreturn]] void throw_too_many_picks() const;

 private:
  [[nodiscard]] int64_t* indptr() const { return static_cast<int64_t*>(relation_.indptr.data); }
  [[nodiscard]] CudaRows rows() const {
    return {.nodes = row_nodes(),
            .row = row_.data(),
            .offset = offset_,
            .first_row = first_row_.data(),
            .num_dst = num_dst(),
            .order = order(),
            .position = position_,
            .numbers = nodes_->rows() != nullptr ? dst_rows() : nullptr};
  }
  [[nodiscard]] CudaRowOrder order() const {
    return is_sorted_ ? CudaRowOrder{dst_.data(), picks_before_.data(), indptr()} : CudaRowOrder{};
  }
  [[nodiscard]] int64_t num_dst() const { return destinations_.size(); }
  [[nodiscard]] const int64_t* dst_nodes() const {
    return nodes_->has_keys() ? nodes_->dst_ids() : nodes_->ids() + destinations_.begin;
  }
  // Their rows in the edge type.
  [[nodiscard]] const int64_t* dst_rows() const {
    return nodes_->rows() != nullptr ? nodes_->rows() + destinations_.begin : dst_nodes();
  }
  // The keys of the destinations, whose memory moves; of sources that are in `sources`.
  [[nodiscard]] CudaTrees trees(const CudaNodes& sources) const;
  [[nodiscard]] CudaTimes times() const;
  [[nodiscard]] bool has_sorted_times() const { return times_ && times_->sorted; }
  [[nodiscard]] bool takes_last() const;
  [[nodiscard]] const int64_t* row_nodes() const {
    return is_sorted_ ? sorted_nodes_.data() : dst_nodes();
  }
  [[nodiscard]] bool replaces() const;
  [[nodiscard]] bool adds_weights() const;
  [[nodiscard]] bool has_shares() const;
  [[nodiscard]] bool looks_at_edges() const;
  [[nodiscard]] bool has_threads_of_items() const;
  [[nodiscard]] bool pays_to_sort_rows() const;
  void sort_rows(CudaRelationScratch& scratch);
  // Reads their bounds, and counts in-edges or picks.
  void read_rows(const CudaCsc& csc, const int64_t* numbers, CudaRelationScratch& scratch);
  // Where the picks before each row are counted.
  [[nodiscard]] int64_t* picks_before() const {
    return is_sorted_ ? picks_before_.data() : indptr();
  }
  // Makes indptr() of them.
  void place_rows(CudaRelationScratch& scratch);
  void find_first_rows(const int64_t* offset, int64_t count);
  [[nodiscard]] CudaImportance importance(const double* p) const;
  void mark_smallest(const CudaMarkArgs& args);
  // Of weights, unless minibatches depend on each other.
  [[nodiscard]] CudaTries tries(const DrawKeys& keys) const;
  void add_weights(CudaRelationScratch& scratch);
  void rank(int64_t* marks_before, CudaRelationScratch& scratch);
  void take_marked(const Labor* labor, const double* p);
  void number(CudaNodes& sources, CudaRelationScratch& scratch);
  [[nodiscard]] int64_t read_id(const void* ids, bool wide, int64_t i) const;
  // Throws what is wrong with its in-edges that the time of destination number i allows.
  void check_in_edges(const Row& row, int64_t i) const;
  [[nodiscard]] int64_t checked_source(int64_t position) const;
  [[nodiscard]] int64_t time_at(int64_t position) const;

  const CudaWork& work_;
  const EdgeType& edges_;
  const int edge_type_;
  const SampleOptions& options_;
  const CudaCsc csc_;
  const CudaBad bad_;
  const CudaWeights weights_;
  const std::optional<EdgeTimes> times_;  // the host's
  const CudaTimes placed_times_;
  const bool is_in_place_;
  const RowOrder row_order_;

  int64_t fanout_ = 0;
  bool is_marked_ = false;
  bool is_unfiltered_ = false;  // parts of rows are to be left out, which are whole yet
  bool is_unweighed_ = false;   // then, of LABOR by weights, the in-edges with none
  bool is_sorted_ = false;      // rows are read by the region of memory that they are in
  CudaExcluded excluded_;
  const CudaNodes* nodes_ = nullptr;  // of the destination type; their memory moves as they grow
  ListRange destinations_;
  CudaScratchArray<int64_t> sorted_nodes_, picks_before_;
  CudaScratchArray<uint32_t> dst_;
  CudaScratchArray<CudaRow> row_;
  CudaScratchArray<int64_t> in_edge_offset_;
  CudaScratchArray<int64_t> whole_offset_, whole_position_;  // before and after filter()
  CudaScratchArray<int64_t> left_offset_, left_position_;
  const int64_t* position_ = nullptr;
  CudaScratchArray<int32_t> first_row_;
  const int64_t* first_row_offset_ = nullptr;  // that first_row_ is of
  int64_t* offset_ = nullptr;
  int64_t num_counted_ = 0, num_edges_ = 0;
  CudaPositions positions_{};  // of the picks

  CudaScratchArray<uint32_t> marks_;
  CudaScratchArray<int64_t> rank_;
  CudaScratchArray<uint64_t> threshold_, number_;
  CudaScratchArray<CudaDrawn> drawn_;
  CudaScratchArray<CudaLimit> limit_;
  CudaScratchArray<int32_t> candidate_;
  CudaScratchArray<double> c_, term_, sums_, row_weight_, share_, variance_;
  Relation relation_;
};

}  // namespace ramet
