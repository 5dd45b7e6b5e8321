#include "faults.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kPieces = 64;  // between two reports

}  // namespace

void ArrayFaults::append(ArrayFaults&& later) {
  count_ += later.count_;
  const auto room = static_cast<size_t>(kShown) - sentences_.size();
  const auto first = std::make_move_iterator(later.sentences_.begin());
  sentences_.insert(sentences_.end(), first,
                    first + static_cast<ptrdiff_t>(std::min(room, later.sentences_.size())));
}

std::vector<std::string> ArrayFaults::take(const std::string& location) && {
  if (count_ > kShown) sentences_.push_back(concat(location, ": and ", count_ - kShown, " more"));
  return std::move(sentences_);
}

bool Faults::check(
    const std::string& location, int64_t n, int64_t entry_bytes, Check check, int64_t grain) {
  ArrayFaults found;
  for (int64_t first = 0; first < n; first += grain * kPieces) {
    const int64_t count = std::min(grain * kPieces, n - first);
    std::vector<ArrayFaults> pieces(static_cast<size_t>((count + grain - 1) / grain));
    parallel_for(count, grain, threads_, [&](int64_t begin, int64_t end) {
      check(first + begin, first + end, pieces[static_cast<size_t>(begin / grain)]);
    });
    for (ArrayFaults& piece : pieces)
      found.append(std::move(piece));
    done_ += count * entry_bytes;
    if (progress_) progress_(done_, total_);
  }
  const bool is_good = found.empty();
  for (std::string& sentence : std::move(found).take(location))
    sentences_.push_back(std::move(sentence));
  return is_good;
}

}  // namespace ramet
