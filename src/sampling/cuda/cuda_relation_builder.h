// CudaRelationBuilder: one edge type of one hop on a device, step by step: kernels/cuda_sampling.h
// says what the steps are. Between them the host learns how far the device has got.
#pragma once

#include <cstdint>

#include "cuda_nodes.h"
#include "cuda_work.h"
#include "kernels/cuda_backend.h"
#include "kernels/cuda_sampling.h"
#include "ramet/cuda_sampler.h"

namespace ramet {

// What relations need one after the other.
struct CudaRelationScratch {
  CudaScratchArray<int64_t> sources;
  CudaScratchArray<int64_t> positions;  // of in-edges
  CudaSumScratch sums;
};

// Where a relation's kernels report.
struct CudaBad {
  uint64_t *row, *pick;  // see cuda_sampling.h
};

// A destination's in-edges are looked at one by one: by LABOR, and by Floyd's algorithm for many.
[[nodiscard]] bool looks_at_edges(const SampleOptions& options, int64_t fanout);

class CudaRelationBuilder {
 public:
  CudaRelationBuilder(const CudaWork& work, const CudaGraph& graph, size_t edge_type, CudaBad bad);

  [[nodiscard]] const EdgeType& edges() const { return edges_; }
  [[nodiscard]] int64_t fanout() const { return fanout_; }
  [[nodiscard]] bool is_empty() const { return fanout_ == 0; }
  [[nodiscard]] bool is_marked() const { return is_marked_; }

  // Reads the rows of all `destinations`. Afterwards *counted() is the number of picks, or in-edges
  // where is_marked().
  void start(const SampleOptions& options,
             int64_t fanout,
             const CudaNodes& destinations,
             CudaRelationScratch& scratch);
  [[nodiscard]] const int64_t* counted() const { return offset_ + num_dst_; }
  // The host knows it; what it stands for fits a relation.
  void set_counted(int64_t count) { num_counted_ = num_edges_ = count; }
  [[nodiscard]] bool has_too_many(int64_t count) const { return count > kCudaMaxEdges; }

  // The importances of LABOR-i. All sources of in-edges become candidates.
  void add_candidates(CudaNodes& candidates, CudaRelationScratch& scratch);
  // The c of every row; `largest`, by candidate, is raised to it.
  void solve(const double* p, double* largest);

  // is_marked(): decides about every in-edge; `p` of LABOR-i or nullptr. Afterwards *accepted() is
  // the number of edges.
  void mark(const SampleOptions& options,
            const CudaDraws& draws,
            const double* p,
            CudaRelationScratch& scratch);
  [[nodiscard]] const int64_t* accepted() const { return indptr() + num_dst_; }
  void set_accepted(int64_t count) { num_edges_ = count; }

  // Makes the relation: the positions of its edges, their sources and these' local ids.
  void take(const SampleOptions& options,
            const CudaDraws& draws,
            const double* p,
            CudaNodes& sources,
            CudaRelationScratch& scratch);
  [[nodiscard]] Relation finish() { return std::move(relation_); }

  // kCorrupt, as the CPU has it: destination number `row`, or edge number `pick`, of this relation
  // is not what it must be.
  [[noreturn]] void refuse_row(int64_t row) const;
  [[noreturn]] void refuse_pick(int64_t pick) const;
  // In-edge number `edge`, when candidates were added.
  [[noreturn]] void refuse_candidate(int64_t edge, CudaRelationScratch& scratch);
  // kInvalidArgument.
  [[noreturn]] void refuse_count() const;

 private:
  [[nodiscard]] int64_t* indptr() const { return static_cast<int64_t*>(relation_.indptr.data); }
  [[nodiscard]] CudaRows rows() const {
    return {destinations_->ids(), row_.data(), offset_, num_dst_};
  }
  void take_all(CudaRelationScratch& scratch);
  void take_marked(const SampleOptions& options, const double* p);
  void number(CudaNodes& sources, int64_t count, int32_t* local, CudaRelationScratch& scratch);

  const CudaWork& work_;
  const EdgeType& edges_;
  const int edge_type_;
  const CudaCsc csc_;
  const CudaBad bad_;

  int64_t fanout_ = 0, num_dst_ = 0;
  bool is_marked_ = false;
  const CudaNodes* destinations_ = nullptr;  // their memory moves as they grow
  CudaScratchArray<CudaRow> row_;
  CudaScratchArray<int64_t> in_edge_offset_;
  int64_t* offset_ = nullptr;
  int64_t num_counted_ = 0, num_edges_ = 0;
  CudaPositions positions_{};  // of what was loaded last

  CudaScratchArray<uint32_t> marks_, rank_;
  CudaScratchArray<uint64_t> threshold_;
  CudaScratchArray<int32_t> candidate_;
  CudaScratchArray<double> c_, sum_;
  Relation relation_;
};

}  // namespace ramet
