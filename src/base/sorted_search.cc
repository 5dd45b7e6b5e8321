// Interpolation: between a lower and an upper bound, a value is expected where the straight line
// between both has it (Perl, Itai, Avni: "Interpolation search: a log log N search", CACM 1978).
// There a cache line of values is counted in vectors: it has the position, or is a new bound. Where
// values lie unevenly this may take long, so after a few steps the middle is looked at instead.
//
// Steps of some searches alternate: the memory of each was requested a round before. A search that
// is done makes room for the next, so that waiting for memory and computing overlap (Kocberber,
// Falsafi, Grot: "Asynchronous memory access chaining", VLDB 2015).
#include "sorted_search.h"

#include <algorithm>
#include <limits>

#include "base/prefetch.h"

namespace ramet {
namespace {

constexpr size_t kTogether = 64;  // searches
constexpr int kInterpolated = 4;  // steps of each

// T: of the values.
template <typename T>
class SideBySide {
 public:
  SideBySide(std::span<const T> values, ValueRange all)
      : values_(values.data()),
        low_(static_cast<double>(all.first)),
        high_(static_cast<double>(all.last)),
        first_step_(all.first < all.last ? 0 : kInterpolated),
        last_line_(std::ssize(values) - kLine) {}

  void run(std::span<SortedSearch> searches) {
    size_t count = 0;
    do {
      size_t kept = 0;
      for (size_t i = 0; i < count; ++i)
        kept += advance(states_[i], states_[kept]) ? 1U : 0U;
      for (count = kept; count < kTogether && !searches.empty(); searches = searches.subspan(1))
        count += start(searches.front(), states_[count]) ? 1U : 0U;
    } while (count > 0);
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(T);

  // The position is in begin .. end; the values before and behind are about `low` and `high`.
  struct State {
    int64_t begin, end;
    double low, high;
    int64_t line;  // where values are looked at next
    SortedSearch* search;
    T wanted;
    int steps;  // done
  };

  // Whether the search takes a step, with `state`.
  bool start(SortedSearch& search, State& state) const {
    if (search.begin == search.end) return false;
    constexpr std::numeric_limits<T> all;
    const auto wanted = static_cast<T>(std::clamp<int64_t>(search.wanted, all.min(), all.max()));
    if (search.begin > last_line_) {
      search.begin =
          std::lower_bound(values_ + search.begin, values_ + search.end, wanted) - values_;
      return false;
    }
    state = {search.begin, search.end, low_, high_, 0, &search, wanted, first_step_};
    request(state);
    return true;
  }

  // Chooses the next line, which is in the range unless that is shorter.
  void request(State& state) const {
    const double part = (static_cast<double>(state.wanted) - state.low) / (state.high - state.low);
    const double share = state.steps < kInterpolated ? std::min(1.0, std::max(0.0, part)) : 0.5;
    const double ahead = share * static_cast<double>(state.end - state.begin);
    const int64_t aligned = (state.begin + static_cast<int64_t>(ahead)) & -kLine;
    const int64_t in_range = std::max(state.begin, std::min(aligned, state.end - kLine));
    state.line = std::min(in_range, last_line_);
    prefetch(values_ + state.line);
    prefetch(values_ + state.line + kLine - 1);
  }

  // Whether the search goes on, with `next`. Without branches on values, which nobody can predict.
  bool advance(const State& state, State& next) const {
    const T* const line = values_ + state.line;
    const int64_t size = std::min(kLine, state.end - state.line);
    const int64_t below = count_below(line, static_cast<T>(size), state.wanted);
    state.search->begin = state.line + below;
    const bool before = (below == 0) & (state.begin < state.line);
    const bool behind = (below == size) & (state.line + size < state.end);
    const double first = static_cast<double>(line[0]), last = static_cast<double>(line[size - 1]);
    State moved = state;
    moved.begin = behind ? state.line + size : state.begin;
    moved.low = behind ? last : state.low;
    moved.end = before ? state.line : state.end;
    moved.high = before ? first : state.high;
    ++moved.steps;
    request(moved);
    next = moved;
    return before | behind;
  }

  // Of the first `size` values of a line, those below `bound`.
  static int64_t count_below(const T* line, T size, T bound) {
    T below = 0;
#pragma GCC unroll 1  // else each is compared alone
    for (T i = 0; i < T{kLine}; ++i)
      below += static_cast<T>((line[i] < bound) & (i < size));
    return below;
  }

  const T* values_;
  double low_, high_;
  int first_step_;
  int64_t last_line_;  // that is whole in the array
  State states_[kTogether];
};

}  // namespace

void search_sorted(const Array& values, ValueRange all, std::span<SortedSearch> searches) {
  with_ids(values, [&]<typename T>(std::span<const T> of_all) {
    SideBySide<T>(of_all, all).run(searches);
  });
}

}  // namespace ramet
