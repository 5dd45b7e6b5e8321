// What is wrong with the entries of a graph's arrays, in sentences for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "ramet/array.h"
#include "ramet/error.h"
#include "ramet/progress.h"

namespace ramet {

// Of one array: the first sentences, and the number of all.
class ArrayFaults {
 public:
  template <typename... Parts>
  void add(const Parts&... sentence) {
    if (++count_ <= kShown) sentences_.push_back(concat(sentence...));
  }
  // "<location>, entry 7: 9 is outside [0, 3)".
  template <typename... Parts>
  void add_entry(const std::string& location,
                 int64_t position,
                 int64_t value,
                 const Parts&... what) {
    add(location, ", entry ", position, ": ", value, " ", what...);
  }
  void append(ArrayFaults&& later);
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool shows_no_more() const noexcept { return count_ >= kShown; }
  // The sentences, and one on those that are not shown.
  [[nodiscard]] std::vector<std::string> take(const std::string& location) &&;

 private:
  static constexpr int64_t kShown = 20;
  int64_t count_ = 0;
  std::vector<std::string> sentences_;
};

// The faults of a graph, array by array. What is found does not depend on threads. For one thread.
class Faults {
 public:
  using Check = FunctionRef<void(int64_t begin, int64_t end, ArrayFaults& found)>;

  // total: bytes of the arrays that will be checked, for progress.
  Faults(int threads, int64_t total, Progress progress)
      : threads_(threads), total_(total), progress_(std::move(progress)) {}

  // Calls check() for pieces of [0, n), of `grain` entries, on several threads. Whether all is
  // well.
  bool check(const std::string& location,
             int64_t n,
             int64_t entry_bytes,
             Check check,
             int64_t grain = 1 << 20);

  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] std::vector<std::string> take() && { return std::move(sentences_); }

 private:
  int threads_;
  int64_t done_ = 0, total_;
  Progress progress_;
  std::vector<std::string> sentences_;
};

}  // namespace ramet
