// Exchanges of cooperating ranks: ids, in a Message, while they sample; then rows, by an
// ExchangePlan. The engine computes messages and plans; the caller moves the bytes, by any means.
//
// A layer forward: take_rows() copies the rows that the plan sends; the caller exchanges them;
// received rows follow the layer's destinations. A layer backward: the gradients of received rows
// return to their ranks, and add_rows() sums them.
//
// Memory: the caller's; a Message and a plan own their arrays. Threads and forks: any.
// Failure: kOutOfRange for a row number outside the rows, before anything is written;
// kInvalidArgument for arrays that do not fit each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ramet/array.h"

namespace ramet {

// Bytes to, or from, each rank of the group: in memory of the host, or of a device, where they are
// complete for every stream.
struct Message {
  std::vector<int64_t> bytes;  // by rank
  Array data;                  // uint8: one rank's bytes after the other's, at a multiple of 8
};

// Sends a message to the ranks and returns their messages.
using Exchange = std::function<Message(const Message&)>;

// The origins of a block's source rows when ranks cooperate, for one node type. A layer's input has
// a row for each of the first num_owned nodes of this rank's n_id. Its sources are the
// destinations, in order, and then rows pulled from rank 0, rank 1, ..., this rank included. Seeds
// that a rank asked for are like sources of a block without destinations.
struct ExchangePlan {
  int64_t num_owned = 0;
  Array send_rows;  // int32: rows of the layer's input to send, those for rank 0 first
  std::vector<int64_t> send_counts;     // by rank
  std::vector<int64_t> receive_counts;  // by rank
  Array source_ids;                     // int32 or int64: ids of the nodes whose rows are pulled
};

// out[i] = rows[ids[i]], both [..., ...] of equal row shapes and dtypes, `out` writable.
void take_rows(const Array& rows, std::span<const int32_t> ids, const Array& out, int threads = 1);

// out[ids[i]] += values[i], i ascending, on at most `threads` threads. Threads share the columns,
// so the bits do not depend on their number. `out`: [rows, ...], writable; `values`: [ids.size(),
// ...], of the same row shape and dtype, float32 or float64.
void add_rows(const Array& out, std::span<const int32_t> ids, const Array& values, int threads = 1);

}  // namespace ramet
