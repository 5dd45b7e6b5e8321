#include "within.h"

namespace ramet {

// Without a branch on a value, which nobody can predict.
int64_t within_portable(
    int64_t first, int64_t last, const int64_t* values, int64_t count, uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[size] = static_cast<uint32_t>(i);
    size += ((first <= values[i]) & (values[i] <= last)) ? 1 : 0;
  }
  return size;
}

}  // namespace ramet
