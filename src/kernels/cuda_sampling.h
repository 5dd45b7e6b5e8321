// The sampling kernels of the CUDA seam (cuda_backend.h): the steps of one edge type of one hop.
// They have the bits of the CPU sampler's. CudaSampler (cuda_sampler.h) puts them together:
//
//   rows      where the in-edges of every destination stand, and how many picks each gives
//   mark_allowed  a bit for every in-edge that a time allows and that is not excluded
//   mark_shares   of LABOR by weights: a bit for every in-edge that weighs enough
//   place_rows  where the picks of every destination go, if rows are in another order
//   first_rows  which rows a kernel's blocks begin in, where its threads are picks or in-edges
//   pick      positions of the picks, where there are not many of each row, all, or repeated ones
//   number_edges  numbers of in-edges, of which the smallest are picked
//   number_tries  numbers of in-edges that rejection draws, and of those beside them
//   mark_*    else a bit for every in-edge that is picked, and then
//   rank, take_marked      where each row's picks go, and their positions
//   sum_weights  how many picks each row gives that are made by weights and may repeat; then pick
//   load      the source at every position
//   number    local ids: sources that are new join the list of nodes, in the order of the picks
//   route, load_asked  of ranks that cooperate (cuda_routes.h)
//
// Local ids and numbers of picks have 32 bits, so that a relation has at most kCudaMaxEdges;
// numbers of in-edges have 64. Arrays are in device memory. A kernel checks the bound of every
// value that it reads from a store; a value out of bounds is recorded and skipped. A `bad` counter
// holds kNoneBad, or the lowest number of a bad item.
//
// No result depends on the order of threads: they share only counts, minima, maxima and bitwise or.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/draw_keys.h"
#include "base/normal.h"
#include "kernels/cuda_csc.h"
#include "kernels/cuda_node_list.h"
#include "kernels/cuda_routes.h"
#include "kernels/cuda_trees.h"
#include "kernels/renumbering.h"

namespace ramet {

inline constexpr int64_t kCudaMaxEdges = (int64_t{1} << 31) - 2;
inline constexpr uint64_t kNoneBad = ~uint64_t{0};
inline constexpr int64_t kCudaFewPicks = 32;     // of a row, which one thread makes
inline constexpr int64_t kCudaSomePicks = 1024;  // of a row, which a block makes in shared memory
inline constexpr int64_t kCudaItems = 256;       // picks or in-edges of a block, one for a thread

// In-edges that `num_dst` destinations may have where a kernel looks at each: a grid has threads
// for them, and so many of every destination make no sum of 64 bits wrap.
constexpr int64_t cuda_max_in_edges(int64_t num_dst) {
  const int64_t of_grid = ((int64_t{1} << 31) - 1) * kCudaItems;
  return num_dst == 0 ? of_grid : std::min(of_grid, (int64_t{1} << 62) / num_dst);
}

// Where a destination's in-edges are.
struct CudaRow {
  int64_t begin, degree;
};

// Rows may be read in another order than their destinations have (CudaOrderArgs, cuda_rows.h): row
// i is then that of destination dst[i]. It decides when memory is read, and no result: the picks of
// a relation, and their local ids, are in the order of the destinations.
struct CudaRowOrder {
  const uint32_t* dst = nullptr;          // by row; nullptr: row i is destination i's
  const int64_t* picks_before = nullptr;  // num_dst + 1, by row
  const int64_t* indptr = nullptr;        // of the relation: the same by destination
};

// The rows of a relation. offset[i] is the number of picks, or in-edges, before row i.
struct CudaRows {
  const int64_t* nodes;      // by row: the destination's id
  const CudaRow* row;        // num_dst
  const int64_t* offset;     // num_dst + 1
  const int32_t* first_row;  // by first_rows(), for what has a thread for each pick or in-edge
  int64_t num_dst;
  CudaRowOrder order = {};
  // Where in-edges stand that are not side by side in their edge type, which `row` then counts.
  const int64_t* position = nullptr;
  // Of a part of a graph, by row: its number in the edge type; nullptr: that of its node.
  const int64_t* numbers = nullptr;
};

// The row of every kCudaItems-th pick, or in-edge, and then the last row that any is in.
struct CudaFirstRowsArgs {
  const int64_t* offset;
  int64_t num_dst;     // at least 1
  int64_t num_items;   // offset[num_dst]
  int32_t* first_row;  // cuda_first_rows()
};
constexpr int64_t cuda_first_rows(int64_t num_items) {
  return (num_items + kCudaItems - 1) / kCudaItems + 1;
}

struct CudaDraws {
  DrawKeys keys;        // of the hop and the edge type, or the source's node type
  NormalTables tables;  // for keys that are mixed
};

// Memory for a scan of `count` values: scan_bytes(count) bytes.
struct CudaScratch {
  void* data;
  int64_t bytes;
};

struct CudaRowsArgs {
  CudaCsc edges;
  const int64_t* rows;            // of `edges`; nullptr: 0, 1, ...
  const uint32_t* dst = nullptr;  // as in CudaRowOrder
  int64_t num_dst;
  CudaTimes times = {};  // rows are in the order of times, and become their allowed parts
  int64_t last = -1;     // of a row the last so many in-edges count; -1: all
  int64_t fanout;        // not 0; with -1 offsets count in-edges
  bool replace;
  int64_t most;  // rows together; a row counts for no more than one above it
  CudaRow* row;
  int64_t* offset;
  uint64_t* bad;  // the number of a destination
  CudaScratch scan;
};

// The picks before each destination, from those before each row.
struct CudaPlaceRowsArgs {
  const uint32_t* dst;
  const int64_t* picks_before;
  int64_t num_dst;
  int64_t* indptr;
  CudaScratch scan;
};

// Positions, int32 or int64, of a relation's picks.
struct CudaPositions {
  void* data;
  bool wide;
};

// A weight for each in-edge of an edge type, float or double.
struct CudaWeights {
  const void* data = nullptr;  // nullptr: none
  bool wide = false;           // double
  uint64_t* bad = nullptr;     // the number of a destination: what is no weight counts as 0
};

// Draws by rejection, base/rejection.h. Rows that do not draw so are left alone.
struct CudaTries {
  CudaRows rows;
  const int64_t* indptr;  // of the edge type
  CudaWeights weights;    // or none: nothing is drawn so
  int64_t fanout;
  bool replace;
  DrawKeys keys;
};

struct CudaPickArgs {
  CudaRows rows;
  int64_t num_picks;
  int64_t fanout;  // at most kCudaSomePicks, unless `replace`; -1: all
  bool replace;
  CudaDraws draws;
  CudaPositions positions;
  // Picks that repeat by weights: their running sums in each row, and where a row's begin.
  const double* sums = nullptr;
  const int64_t* sums_before = nullptr;
  CudaTries tries = {};  // which take the place of the first ones
};

// A bit for every in-edge: 32 to the word, and kCudaItems to the block, of which there are whole
// ones.
constexpr int64_t cuda_mark_blocks(int64_t num_edges) {
  return (num_edges + kCudaItems - 1) / kCudaItems;
}
constexpr int64_t cuda_mark_words(int64_t num_edges) {
  return cuda_mark_blocks(num_edges) * (kCudaItems / 32);
}

struct CudaMarkArgs {
  CudaRows rows;      // offsets count in-edges
  int64_t num_edges;  // of these rows
  int64_t fanout;     // above 0, or -1: all
  CudaDraws draws;
  uint32_t* marks;
};

struct CudaMarkAllowedArgs {
  CudaMarkArgs mark;
  CudaCsc edges;
  CudaTimes times;  // or none
  CudaExcluded excluded;
  uint64_t* bad;  // the number of a destination with a source that is no node
};

// LABOR-i, and LABOR by weights: what is known of the in-edges of these rows.
struct CudaImportance {
  const double* p = nullptr;           // of every candidate; nullptr: LABOR-0 without weights
  const int32_t* candidate = nullptr;  // by in-edge; nullptr: each is its own
  const double* c = nullptr;           // by row
  const double* share = nullptr;       // by in-edge, of the row's weight; nullptr: no weights
};

struct CudaMarkLaborArgs {
  CudaMarkArgs mark;
  CudaCsc edges;
  uint64_t* threshold;  // scratch: num_dst
  CudaImportance importance;
};

// In-edges with numbers, of which each row gives those with the smallest: words, exponential
// numbers over weights, or times. An in-edge without a weight has the number kNotDrawn.
inline constexpr uint64_t kNotDrawn = ~uint64_t{0};
// Tries come first. In a row that they draw from, picks have the smallest number, and others are
// kNotDrawn. Where tries left some of the picks, others get numbers as in rows without tries.
enum class CudaDrawn : uint8_t { kNothing, kSome, kAll };
struct CudaNumberEdgesArgs {
  CudaMarkArgs mark;
  CudaCsc edges;
  CudaWeights weights;     // or none
  CudaTimes times;         // the later, the smaller; or none
  const CudaDrawn* tries;  // by row; nullptr: there were none
  uint64_t* number;        // by in-edge
};
struct CudaNumberTriesArgs {
  CudaTries tries;
  CudaDrawn* drawn;  // by row
  uint64_t* number;
};

// What a row gives: smaller numbers than this one, and this one up to a position among equal ones.
struct CudaLimit {
  uint64_t number, position;
};
struct CudaMarkSmallestArgs {
  CudaMarkArgs mark;
  const uint64_t* number;
  bool are_weighted;
  bool takes_last;   // of equal numbers the last in-edges
  CudaLimit* limit;  // scratch: num_dst
};

struct CudaSumWeightsArgs {
  CudaRows rows;  // offsets count in-edges
  CudaWeights weights;
  int64_t fanout;         // above 0
  int64_t most;           // as in CudaRowsArgs
  double* sums;           // by in-edge: of its row's weights, up to its own
  int64_t* picks_before;  // num_dst + 1, by row
  CudaScratch scan;
};

struct CudaRankArgs {
  const uint32_t* marks;
  int64_t num_edges;
  int64_t* rank;  // cuda_mark_blocks() + 1: marks before each block
  const int64_t* offset;
  int64_t num_dst;
  int64_t* marks_before;  // num_dst + 1: marks before each row
  CudaScratch scan;
};

struct CudaTakeMarkedArgs {
  CudaRows rows;
  int64_t num_edges;
  const uint32_t* marks;
  const int64_t* rank;
  CudaPositions positions;
  float* weight = nullptr;          // by pick; nullptr: none
  int64_t fanout = 0;               // weights of LABOR-0
  CudaImportance importance = {};   // or of other LABOR
  const int64_t* indptr = nullptr;  // of the relation
  double* term = nullptr;           // scratch: by pick, for normalized weights by importance
};

struct CudaLoadArgs {
  CudaCsc edges;
  CudaPositions positions;
  int64_t num_picks;
  CudaRowOrder order = {};             // in which positions are read
  const int64_t* offset = nullptr;     // where rows matter: picks before each
  const int32_t* first_row = nullptr;  // and by first_rows()
  CudaTrees trees = {};
  CudaTimes times = {};  // of rows that should be in their order, as picks show
  int64_t* sources;      // by pick: ids or keys; -1 where the id is bad
  CudaNodeTable table;   // of the source type
  uint64_t* bad;         // the number of a pick
};

// In-edges [first, first + count) of these rows, `first` a multiple of kCudaItems, in the place of
// picks.
struct CudaLoadInEdgesArgs {
  CudaCsc edges;
  CudaRows rows;  // offsets count in-edges
  int64_t first, count;
  CudaTrees trees = {};
  int64_t* sources;
  CudaNodeTable table;
  uint64_t* bad;  // the number of a destination
};

struct CudaNumberArgs {
  const int64_t* sources;
  int64_t num_picks;
  CudaNodeList list;
  uint32_t* rank;  // scratch: num_picks
  int32_t* local;
  CudaScratch scan;
};

// LABOR by weights: the shares in a row's weight, of in-edges that mark_shares() marked.
struct CudaShares {
  CudaWeights weights = {};
  double* row_weight = nullptr;  // by mark_shares()
  double* share = nullptr;       // by in-edge; nullptr: no weights
  double* variance = nullptr;    // by row
  bool is_first = false;         // iteration, or the only one: makes `share` and `variance`
};

struct CudaSolveArgs {
  CudaRows rows;  // offsets count in-edges
  int64_t num_edges;
  int64_t fanout;
  const double* p;
  const int32_t* candidate;
  double* c;        // by row
  double* largest;  // by candidate: at least the c of its rows, or their q by weights; nullptr: not
  CudaShares shares = {};
};

struct CudaEdgeIdsArgs {
  CudaPositions positions;
  int64_t num_edges;
  const void* ids;  // nullptr: a position is its own id
  bool wide_ids;
  int64_t num_ids;  // a position that is none of them, which somebody has written, becomes -1
  int64_t* out;
};

// What is derived from a relation by destination.
struct CudaRelationArgs {
  const int64_t* indptr;
  int64_t num_dst;
  const int32_t* indices;
  int64_t num_edges;
  const int32_t* first_row;  // by first_rows()
};

// The edges of a hop, for the hops after it; docs/semantics.md, section 16, "Paths in order".
struct CudaNarrowPathsArgs {
  CudaRelationArgs relation;
  CudaPositions positions;
  CudaCsc edges;
  CudaTimes times;  // without times an edge passes on what its destination allows
  bool is_past;     // what a time allows: those before it, else those after it,
  bool is_strict;   // without itself
  CudaPath* paths;  // of the sources
};

struct CudaSamplingKernels {
  int64_t (*scan_bytes)(int device, int64_t count);
  void (*rows)(int device, const CudaRowsArgs& args, void* stream);
  void (*mark_allowed)(int device, const CudaMarkAllowedArgs& args, void* stream);
  void (*place_rows)(int device, const CudaPlaceRowsArgs& args, void* stream);
  void (*first_rows)(int device, const CudaFirstRowsArgs& args, void* stream);
  void (*pick)(int device, const CudaPickArgs& args, void* stream);
  // Floyd's picks of any number. `marks` is all zero before.
  void (*mark_floyd)(int device, const CudaMarkArgs& args, void* stream);
  void (*mark_labor)(int device, const CudaMarkLaborArgs& args, void* stream);
  void (*mark_shares)(int device, const CudaMarkArgs& mark, const CudaShares& to, void* stream);
  void (*number_edges)(int device, const CudaNumberEdgesArgs& args, void* stream);
  void (*number_tries)(int device, const CudaNumberTriesArgs& args, void* stream);
  void (*mark_smallest)(int device, const CudaMarkSmallestArgs& args, void* stream);
  void (*sum_weights)(int device, const CudaSumWeightsArgs& args, void* stream);
  void (*rank)(int device, const CudaRankArgs& args, void* stream);
  void (*take_marked)(int device, const CudaTakeMarkedArgs& args, void* stream);
  void (*load)(int device, const CudaLoadArgs& args, void* stream);
  void (*load_in_edges)(int device, const CudaLoadInEdgesArgs& args, void* stream);
  void (*number)(int device, const CudaNumberArgs& args, void* stream);
  void (*route)(int device, const CudaRouteArgs& args, const CudaScratch& scan, void* stream);
  void (*load_asked)(int device, const CudaLoadAskedArgs& args, void* stream);
  // The nodes of a list from `first` on, which then has `count`: of several that are equal the
  // first counts. And the slots emptied of those from `first` to `count`.
  void (*insert)(int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream);
  void (*clear)(int device, const CudaNodeList& list, int64_t first, int64_t count, void* stream);
  // The nodes of a list, at most `most`, in a table that is empty.
  void (*insert_again)(int device, const CudaNodeList& list, int64_t most, void* stream);
  void (*split_keys)(int device, const CudaSplitKeysArgs& args, void* stream);
  void (*narrow_paths)(int device, const CudaNarrowPathsArgs& args, void* stream);

  // LABOR-i, for `count` candidates: all importances are 1; an iteration's end.
  void (*begin_importance)(int device, double* p, double* largest, int64_t count, void* stream);
  void (*solve)(int device, const CudaSolveArgs& args, void* stream);
  void (*update)(int device, double* p, double* largest, int64_t count, void* stream);

  // Of `count` local ids, on a table of the device.
  void (*renumber)(int device, int32_t* local, int64_t count, const Renumbering& to, void* stream);
  void (*edge_ids)(int device, const CudaEdgeIdsArgs& args, void* stream);
  void (*mean_weights)(int device, const CudaRelationArgs& args, float* out, void* stream);
  void (*edge_index)(int device, const CudaRelationArgs& args, int64_t* out, void* stream);
};

}  // namespace ramet
