#include "shared_trees.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "ramet/error.h"

namespace ramet {
namespace {

enum List : size_t { kCount, kTimes, kLists };

[[noreturn]] void throw_no_trees(size_t rank, size_t counts, size_t times) {
  throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", counts, " numbers of trees and ", times,
              " times, expected one number, and as many times for each tree as other ranks have");
}

int64_t count_of(const MessageReader<int64_t>& from, size_t rank) {
  const auto counts = from.values(kCount, rank);
  const bool is_count =
      counts.size() == 1 && 0 <= counts[0] && counts[0] <= std::numeric_limits<int32_t>::max();
  if (!is_count) throw_no_trees(rank, counts.size(), from.values(kTimes, rank).size());
  return counts[0];
}

}  // namespace

Message SharedTrees::announce(int64_t num_trees, const Array& times, BufferPool& pool) {
  have_times_ = times.data != nullptr;
  const auto own = have_times_ ? times.as<int64_t>() : std::span<const int64_t>();
  const ForAll<int64_t> count(std::span(&num_trees, 1), ranks_), all(own, ranks_);
  const Values<int64_t> lists[] = {count.values(), all.values()};
  return write_message<int64_t>(lists, ranks_, pool);
}

void SharedTrees::receive(const Message& from_ranks, BufferPool& pool) {
  const MessageReader<int64_t> from(from_ranks, ranks_, kLists);
  size_ = 0;
  int64_t per_tree = 0;
  std::vector<int64_t> all;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const int64_t count = count_of(from, rank);
    const auto times = from.values(kTimes, rank);
    if (rank == rank_) first_ = size_;
    size_ += count;
    if (size_ > std::numeric_limits<int32_t>::max())
      throw_error(ErrorCode::kCorrupt, "ranks have ", size_, " trees in a batch, expected up to ",
                  std::numeric_limits<int32_t>::max());
    if (count > 0 && per_tree == 0) per_tree = std::ssize(times) / count;
    const bool is_time = have_times_ ? per_tree == 1 || per_tree == 2 : per_tree == 0;
    if (std::ssize(times) != count * per_tree || (count > 0 && !is_time))
      throw_no_trees(rank, 1, times.size());
    all.insert(all.end(), times.begin(), times.end());
  }
  if (!have_times_) return;
  times_ = pool.allocate_array(
      DType::kInt64, per_tree == 2 ? std::vector<int64_t>{size_, 2} : std::vector<int64_t>{size_});
  std::copy(all.begin(), all.end(), static_cast<int64_t*>(times_.data));
}

Array SharedTrees::times_of_seeds(const Minibatch& minibatch, BufferPool& pool) const {
  if (!have_times_) return {};
  const auto of_trees = times_.as<int64_t>();
  const auto width = static_cast<size_t>(times_.shape.size() == 1 ? 1 : 2);
  std::vector<int64_t> shape = times_.shape;
  shape[0] = minibatch.num_seeds;
  Array times = pool.allocate_array(DType::kInt64, shape);
  auto* out = static_cast<int64_t*>(times.data);
  for (const auto& [type, count] : minibatch.seeds) {
    const auto trees = minibatch.trees[static_cast<size_t>(type)].as<int64_t>();
    for (const int64_t tree : trees.first(static_cast<size_t>(count)))
      out = std::copy_n(&of_trees[static_cast<size_t>(tree) * width], width, out);
  }
  return times;
}

}  // namespace ramet
