#include "ramet/node_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bit_rank.h"
#include "owned_bitmap.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/ownership.h"

namespace ramet {
namespace {

int64_t owner_of(const NodeRows::Context& context, int64_t node) {
  if (context.owner.dtype == DType::kInt64) return Ownership::ranges(context.owner).owner(node);
  return Ownership::by_vector(context.owner, context.part.count, context.owner_location)
      .owner(node);
}

}  // namespace

NodeRows NodeRows::all(int64_t num_nodes) {
  NodeRows rows;
  rows.num_nodes_ = rows.num_rows_ = num_nodes;
  return rows;
}

NodeRows NodeRows::range(int64_t begin, int64_t end, Context context) {
  NodeRows rows;
  rows.form_ = Form::kRange;
  rows.begin_ = begin;
  rows.num_rows_ = end - begin;
  rows.context_ = std::make_shared<const Context>(std::move(context));
  return rows;
}

NodeRows NodeRows::bitmap(Array owned, int64_t num_nodes, int64_t num_rows, Context context) {
  NodeRows rows;
  rows.form_ = Form::kBitmap;
  rows.num_nodes_ = num_nodes;
  rows.num_rows_ = num_rows;
  rows.owned_ = std::move(owned);
  rows.context_ = std::make_shared<const Context>(std::move(context));
  return rows;
}

int64_t NodeRows::row_of_bitmap(int64_t node) const {
  int64_t row = 0;
  look_up_bitmap(std::span<const int64_t>(&node, 1), &row);
  if (row != -1 && static_cast<uint64_t>(row) >= static_cast<uint64_t>(num_rows_))
    throw_bad_row(node, row);
  return row;
}

void NodeRows::require(std::span<const int32_t> nodes, int64_t* rows) const {
  look_up(nodes, rows);
}

void NodeRows::require(std::span<const int64_t> nodes, int64_t* rows) const {
  look_up(nodes, rows);
}

template <typename Id>
void NodeRows::look_up(std::span<const Id> nodes, int64_t* rows) const {
  if (form_ == Form::kBitmap) {
    look_up_bitmap(nodes, rows);
  } else {
    std::transform(nodes.begin(), nodes.end(), rows, [&](int64_t node) { return node - begin_; });
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (static_cast<uint64_t>(rows[i]) < static_cast<uint64_t>(num_rows_)) continue;
    if (form_ == Form::kBitmap && rows[i] != -1) throw_bad_row(nodes[i], rows[i]);
    throw_not_owned(nodes[i]);
  }
}

void NodeRows::look_up_bitmap(std::span<const int32_t> nodes, int64_t* rows) const {
  bit_rank_kernels().of_int32(owned_.as<uint64_t>().data(), nodes.data(),
                              static_cast<int64_t>(nodes.size()), rows);
}

void NodeRows::look_up_bitmap(std::span<const int64_t> nodes, int64_t* rows) const {
  bit_rank_kernels().of_int64(owned_.as<uint64_t>().data(), nodes.data(),
                              static_cast<int64_t>(nodes.size()), rows);
}

Array NodeRows::nodes(int64_t begin, int64_t end) const {
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {end - begin});
  auto* out = static_cast<int64_t*>(result.data);
  if (form_ == Form::kBitmap)
    list_bitmap(begin, end, out);
  else
    std::iota(out, out + (end - begin), begin_ + begin);
  return result;
}

// From the line on that has row `begin`; up to the last line of all, where all rows are wanted.
void NodeRows::list_bitmap(int64_t begin, int64_t end, int64_t* nodes) const {
  const uint64_t* lines = owned_.as<uint64_t>().data();
  const int64_t count = num_lines(num_nodes_);
  int64_t l = 0, row = 0;
  if (begin > 0) {
    const auto rows_before = [lines](int64_t line) {
      return static_cast<int64_t>(lines[line * kLineWords]);
    };
    for (int64_t behind = count; behind - l > 1;) {
      const int64_t middle = l + (behind - l) / 2;
      (rows_before(middle) <= begin ? l : behind) = middle;
    }
    row = rows_before(l);
  }
  for (; l < count && (row < end || end == num_rows_); ++l) {
    for_each_bit(lines + l * kLineWords, [&](int64_t bit) {
      const int64_t node = l * kLineBits + bit;
      if (row == num_rows_ || node >= num_nodes_) throw_bad_row(node, row);
      if (row >= begin && row < end) nodes[row - begin] = node;
      ++row;
    });
  }
  if (row >= end) return;
  throw_corrupt(context_->owned_location, row, " nodes are owned, but its last line makes that ",
                num_rows_);
}

void NodeRows::throw_not_owned(int64_t node) const {
  throw_error(ErrorCode::kOutOfRange, "node ", node, " of type '", context_->type,
              "' belongs to part ", owner_of(*context_, node), "; this store is part ",
              context_->part.index, " of ", context_->part.count);
}

void NodeRows::throw_bad_row(int64_t node, int64_t row) const {
  throw_error(ErrorCode::kCorrupt, context_->owned_location, ", line ", node / kLineBits,
              ": it makes node ", node, " row ", row, ", but the part has ", num_rows_, " rows");
}

}  // namespace ramet
