// A most-significant-digit radix sort for external memory. The first digit is of as many bits as
// distinguish 2^20 groups between the smallest and the largest key, so that keys of a narrow range
// need no second one. Groups that follow each other are sorted together in memory, by comparisons.
#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "memory_plan.h"
#include "positions_by_row.h"
#include "ramet/error.h"
#include "ramet/external_order.h"
#include "storage/growing_memory.h"

namespace ramet {
namespace {

constexpr int kDigitBits = 20;
constexpr int64_t kBytesPerKey = 16;  // a position, and half of one where stable_sort() merges

using Values = std::span<const int64_t>;

class KeySort {
 public:
  KeySort(const ExternalOptions& options, int64_t num_keys, const Progress& progress)
      : options_(options),
        progress_(progress),
        total_(num_keys * int64_t{sizeof(int64_t)}),
        threads_(MemoryPlan(options.memory, options.threads).threads),
        room_(static_cast<size_t>(options.memory / kBytesPerKey / threads_)) {}

  // out[i] = positions[p] where keys[p] is the i-th key; no positions: p itself.
  void sort(Values keys, Values positions, std::span<int64_t> out) {
    if (keys.size() <= room_) {
      sort_in_memory(keys, positions, out);
      return finished(out);
    }
    const auto [low, high] = std::minmax_element(keys.begin(), keys.end());
    const int64_t lowest = *low;
    const uint64_t range = distance(lowest, *high);
    const int shift = std::max(static_cast<int>(std::bit_width(range)) - kDigitBits, 0);
    const auto digit = [=](int64_t key) {
      return static_cast<int64_t>(distance(lowest, key) >> shift);
    };
    const auto by_digit = sort_positions(
        std::ssize(keys), digit(*high) + 1,
        [&](int64_t begin, int64_t end, int64_t* to) {
          std::transform(keys.begin() + begin, keys.begin() + end, to, digit);
        },
        options_, reporting());
    GrowingMemory sorted(options_.folder, "an array in " + options_.folder);
    put_in_order(positions, by_digit.positions, sorted);
    const Values grouped_positions(sorted.as<int64_t>(), keys.size());
    if (shift == 0) {
      std::copy(grouped_positions.begin(), grouped_positions.end(), out.begin());
      return finished(out);
    }
    GrowingMemory grouped(options_.folder, "an array in " + options_.folder);
    put_in_order(keys, by_digit.positions, grouped);
    sort_groups(by_digit.begin.as<int64_t>(), {grouped.as<int64_t>(), keys.size()},
                grouped_positions, out);
  }

 private:
  // Of keys that may be as far from each other as 64 bits allow.
  static uint64_t distance(int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }

  static void sort_in_memory(Values keys, Values positions, std::span<int64_t> out) {
    std::vector<int64_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [keys](int64_t a, int64_t b) {
      return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < order.size(); ++i)
      out[i] = positions.empty() ? order[i] : positions[static_cast<size_t>(order[i])];
  }

  // values[order[i]]; no values: order[i].
  void put_in_order(Values values, const Array& order, GrowingMemory& to) {
    to.grow(order.rows() * int64_t{sizeof(int64_t)});
    const Array out{to.as<int64_t>(), DType::kInt64, {order.rows()}, nullptr, true};
    if (!values.empty()) {
      external_gather(borrow(values), order, out, options_, reporting());
    } else {
      with_ids(order, [&](auto ids) { std::copy(ids.begin(), ids.end(), to.as<int64_t>()); });
    }
  }

  // Windows of whole groups by threads, and then groups that are too large.
  void sort_groups(Values begin, Values keys, Values positions, std::span<int64_t> out) {
    const auto part = [](auto values, const Window& window) {
      return values.subspan(window.begin, window.end - window.begin);
    };
    std::vector<Window> large;
    std::vector<Window> windows = windows_of(begin, large);
    parallel_for(std::ssize(windows), 1, threads_, [&](int64_t i, int64_t) {
      const Window& window = windows[static_cast<size_t>(i)];
      sort_in_memory(part(keys, window), part(positions, window), part(out, window));
    });
    for (const Window& window : windows)
      finished(part(out, window));
    for (const Window& window : large)
      sort(part(keys, window), part(positions, window), part(out, window));
  }

  struct Window {
    size_t begin, end;
  };

  std::vector<Window> windows_of(Values begin, std::vector<Window>& large) const {
    std::vector<Window> windows;
    for (size_t group = 0; group + 1 < begin.size(); ++group) {
      const auto first = static_cast<size_t>(begin[group]),
                 end = static_cast<size_t>(begin[group + 1]);
      if (end - first > room_)
        large.push_back({first, end});
      else if (!windows.empty() && windows.back().end == first &&
               end - windows.back().begin <= room_)
        windows.back().end = end;
      else if (first < end)
        windows.push_back({first, end});
    }
    return windows;
  }

  [[nodiscard]] Progress reporting() {
    return [this](int64_t, int64_t) { finished({}); };
  }
  void finished(std::span<const int64_t> out) {
    done_ += static_cast<int64_t>(out.size_bytes());
    if (progress_) progress_(done_, total_);
  }

  const ExternalOptions& options_;
  const Progress& progress_;
  int64_t done_ = 0, total_;
  int threads_;
  size_t room_;  // keys
};

}  // namespace

void external_argsort(const Array& keys,
                      const Array& order,
                      const ExternalOptions& options,
                      const Progress& progress) {
  const auto is_list = [](const Array& array) {
    return array.dtype == DType::kInt64 && array.shape.size() == 1;
  };
  if (!is_list(keys) || !is_list(order) || keys.rows() != order.rows())
    throw_invalid("keys are ", keys.describe(), " and order ", order.describe(),
                  ", expected one dimension of int64, of the same length");
  require_external(options, kLeastOrderMemory);
  KeySort(options, keys.rows(), progress)
      .sort(keys.as<int64_t>(), {},
            {static_cast<int64_t*>(order.data), static_cast<size_t>(order.rows())});
}

}  // namespace ramet
