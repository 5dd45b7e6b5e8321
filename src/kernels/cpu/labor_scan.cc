#include "labor_scan.h"

#include <type_traits>

#include "base/prefetch.h"

namespace ramet {
namespace {

// Whether a source is accepted is as good as random in rows that are not much longer than the
// fanout, so it is not branched on.
template <typename Index>
int64_t scan(const DrawKeys& source_keys,
             uint64_t threshold,
             const Index* sources,
             int64_t count,
             uint32_t* accepted) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kLaborAhead < count) prefetch(sources + i + kLaborAhead);
    const auto source = static_cast<std::make_unsigned_t<Index>>(sources[i]);
    accepted[size] = static_cast<uint32_t>(i);
    size += draw_word(source_keys, source) <= threshold ? 1 : 0;
  }
  return size;
}

void words_of(const DrawKeys& keys, const int64_t* values, int64_t count, uint64_t* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = draw_word(keys, static_cast<uint64_t>(values[i]));
}

}  // namespace

LaborKernel labor_portable() {
  return {scan<int32_t>, scan<int64_t>, words_of};
}

}  // namespace ramet
