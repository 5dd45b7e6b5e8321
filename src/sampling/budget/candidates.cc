#include "candidates.h"

#include <algorithm>
#include <limits>

#include "sampling/relation_builder.h"
#include "sampling/weights.h"

namespace ramet {

template <typename Id>
void Candidates<Id>::start_batch(std::span<const int64_t> seeds) {
  found_.start_batch(seeds);
  nodes_.assign(found_.ids().begin(), found_.ids().end());
  importance_.assign(nodes_.size(), 0);
  position_.clear();
  foreign_.clear();
  is_repeat_.clear();
  relabel(nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    position_[i] = static_cast<int32_t>(i);
    is_repeat_.push_back(local_[i] != position_[i]);
  }
}

template <typename Id>
void Candidates<Id>::add_shares(std::span<const Id> ids, std::span<const uint64_t> shares) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  relabel(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    uint64_t& importance = importance_[static_cast<size_t>(local_[i])];
    importance = shares[i] > kMost - importance ? kMost : importance + shares[i];
  }
}

// Exponential numbers divided by weights are the times of draws without replacement (Efraimidis,
// Spirakis: "Weighted random sampling with a reservoir", 2006).
template <typename Id>
std::span<const DrawnNode<Id>> Candidates<Id>::draw(const DrawKeys& keys, int64_t count) {
  constexpr double kSlack = 1 + 0x1p-40;  // more than the numbers are off by
  const auto kept = static_cast<size_t>(std::min<int64_t>(count, found_.size()));
  double bound = std::numeric_limits<double>::max();  // `kept` candidates have smaller numbers
  drawn_.clear();
  if (kept == 0) return drawn_;
  for (size_t i = 0; i < position_.size(); ++i) {
    if (position_[i] != kNowhere || importance_[i] == 0) continue;
    const auto importance = static_cast<double>(importance_[i]);
    const double weight = importance * importance;
    const Id id = found_.ids()[i];
    const double u = fraction_of(draw_word(keys, static_cast<uint64_t>(id)));
    // -log u >= 1 - u > 0 spares most of many candidates the logarithm.
    if (1 - u > bound * weight * kSlack) continue;
    drawn_.push_back({minus_log(u) / weight, id});
    if (drawn_.size() < 2 * kept + 16) continue;
    keep_smallest(kept);
    bound = drawn_.back().number;
  }
  keep_smallest(kept);
  return drawn_;
}

template <typename Id>
void Candidates<Id>::append(Id id) {
  position_of(id) = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(id);
}

template <typename Id>
void Candidates<Id>::append_foreign(Id id) {
  int32_t& position = position_of(id);
  if (position != kNowhere) return;
  position = kNowhere - 1 - static_cast<int32_t>(foreign_.size());
  foreign_.push_back(id);
}

template <typename Id>
void Candidates<Id>::find(std::span<const Id> ids, int32_t* position) {
  relabel(ids);
  std::transform(local_.begin(), local_.end(), position,
                 [&](int32_t i) { return position_[static_cast<size_t>(i)]; });
}

template <typename Id>
void Candidates<Id>::relabel(std::span<const Id> ids) {
  local_.resize(ids.size());
  found_.reserve_more(ids.size());
  ramet::request_and_relabel(found_, ids, local_.data());
  importance_.resize(found_.ids().size());
  position_.resize(found_.ids().size(), kNowhere);
}

template <typename Id>
int32_t& Candidates<Id>::position_of(Id id) {
  relabel(std::span<const Id>(&id, 1));
  return position_[static_cast<size_t>(local_[0])];
}

template <typename Id>
void Candidates<Id>::keep_smallest(size_t count) {
  const auto end = drawn_.begin() + std::min(std::ssize(drawn_), static_cast<ptrdiff_t>(count));
  std::partial_sort(drawn_.begin(), end, drawn_.end());
  drawn_.erase(end, drawn_.end());
}

template class Candidates<int32_t>;
template class Candidates<int64_t>;

}  // namespace ramet
