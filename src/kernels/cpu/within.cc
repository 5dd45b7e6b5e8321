#include "within.h"

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

bool has_value(uint16_t value, const uint16_t* values, int64_t count) {
  uint16_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    found |= static_cast<uint16_t>(values[i] == value);
  return found != 0;
}

}  // namespace

Within within_portable() {
  return {find_within<int64_t>, find_within<uint16_t>, has_value};
}

}  // namespace ramet
