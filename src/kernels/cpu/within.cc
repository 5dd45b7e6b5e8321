#include "within.h"

#include <algorithm>

namespace ramet {
namespace {

// Without a branch on a value, which nobody can predict.
template <typename Value>
int64_t find_within(Value first, Value last, const Value* values, int64_t count, uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[size] = static_cast<uint32_t>(i);
    size += ((first <= values[i]) & (values[i] <= last)) ? 1 : 0;
  }
  return size;
}

FoundCodes find_codes_within(
    uint16_t first, uint16_t last, const uint16_t* values, int64_t count, uint32_t* found) {
  const bool any = std::any_of(values, values + count,
                               [=](uint16_t value) { return value == first || value == last; });
  return {find_within(first, last, values, count, found), any};
}

}  // namespace

Within within_portable() {
  return {find_within<int64_t>, find_codes_within};
}

}  // namespace ramet
