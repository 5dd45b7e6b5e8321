// The functions of CudaSamplingKernels, which kernels/cuda_sampling.h describes.
#pragma once

#include "kernels/cuda_sampling.h"

namespace ramet {

namespace cuda_sampling {

int64_t scan_bytes(int device, int64_t count);
void rows(int device, const CudaRowsArgs& args, void* stream);
void mark_allowed(int device, const CudaMarkAllowedArgs& args, void* stream);
void place_rows(int device, const CudaPlaceRowsArgs& args, void* stream);
void first_rows(int device, const CudaFirstRowsArgs& args, void* stream);
void pick(int device, const CudaPickArgs& args, void* stream);
void mark_floyd(int device, const CudaMarkArgs& args, void* stream);
void mark_labor(int device, const CudaMarkLaborArgs& args, void* stream);
void mark_shares(int device, const CudaMarkArgs& mark, const CudaShares& to, void* stream);
void number_edges(int device, const CudaNumberEdgesArgs& args, void* stream);
void number_tries(int device, const CudaNumberTriesArgs& args, void* stream);
void mark_smallest(int device, const CudaMarkSmallestArgs& args, void* stream);
void sum_weights(int device, const CudaSumWeightsArgs& args, void* stream);
void rank(int device, const CudaRankArgs& args, void* stream);
void take_marked(int device, const CudaTakeMarkedArgs& args, void* stream);
void load(int device, const CudaLoadArgs& args, void* stream);
void load_in_edges(int device, const CudaLoadInEdgesArgs& args, void* stream);
void number(int device, const CudaNumberArgs& args, void* stream);
void route(int device, const CudaRouteArgs& args, const CudaScratch& scan, void* stream);
void load_asked(int device, const CudaLoadAskedArgs& args, void* stream);
void insert(int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream);
void clear(int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream);
void insert_again(int device, const CudaNodeList& list, int64_t most, void* stream);
void split_keys(int device, const CudaSplitKeysArgs& args, void* stream);
void narrow_paths(int device, const CudaNarrowPathsArgs& args, void* stream);
void begin_importance(int device, double* p, double* largest, int64_t count, void* stream);
void solve(int device, const CudaSolveArgs& args, void* stream);
void update(int device, double* p, double* largest, int64_t count, void* stream);
void renumber(int device, int32_t* local, int64_t count, const Renumbering& to, void* stream);
void edge_ids(int device, const CudaEdgeIdsArgs& args, void* stream);
void mean_weights(int device, const CudaRelationArgs& args, float* out, void* stream);
void edge_index(int device, const CudaRelationArgs& args, int64_t* out, void* stream);

}  // namespace cuda_sampling

// What solve() does to rows with weights, on the current device.
void solve_by_weights(const CudaSolveArgs& args, void* stream);
// Draws with replacement by rejection, in the place of the first ones, which sums made.
void store_tries_over(const CudaTries& args, const CudaPositions& positions, void* stream);

inline constexpr CudaSamplingKernels kCudaSamplingKernels{
    .scan_bytes = cuda_sampling::scan_bytes,
    .rows = cuda_sampling::rows,
    .mark_allowed = cuda_sampling::mark_allowed,
    .place_rows = cuda_sampling::place_rows,
    .first_rows = cuda_sampling::first_rows,
    .pick = cuda_sampling::pick,
    .mark_floyd = cuda_sampling::mark_floyd,
    .mark_labor = cuda_sampling::mark_labor,
    .mark_shares = cuda_sampling::mark_shares,
    .number_edges = cuda_sampling::number_edges,
    .number_tries = cuda_sampling::number_tries,
    .mark_smallest = cuda_sampling::mark_smallest,
    .sum_weights = cuda_sampling::sum_weights,
    .rank = cuda_sampling::rank,
    .take_marked = cuda_sampling::take_marked,
    .load = cuda_sampling::load,
    .load_in_edges = cuda_sampling::load_in_edges,
    .number = cuda_sampling::number,
    .route = cuda_sampling::route,
    .load_asked = cuda_sampling::load_asked,
    .insert = cuda_sampling::insert,
    .clear = cuda_sampling::clear,
    .insert_again = cuda_sampling::insert_again,
    .split_keys = cuda_sampling::split_keys,
    .narrow_paths = cuda_sampling::narrow_paths,
    .begin_importance = cuda_sampling::begin_importance,
    .solve = cuda_sampling::solve,
    .update = cuda_sampling::update,
    .renumber = cuda_sampling::renumber,
    .edge_ids = cuda_sampling::edge_ids,
    .mean_weights = cuda_sampling::mean_weights,
    .edge_index = cuda_sampling::edge_index,
};

}  // namespace ramet
