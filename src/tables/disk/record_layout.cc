#include "record_layout.h"

#include <functional>
#include <numeric>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kAlignment = 4;
constexpr int64_t kPage = 4096;

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

RecordLayout layout_of(std::span<const RecordColumn> columns) {
  if (columns.empty()) throw_invalid("records without a column");
  RecordLayout layout;
  for (const RecordColumn& column : columns) {
    const int64_t size = std::accumulate(column.shape.begin(), column.shape.end(),
                                         item_size(column.dtype), std::multiplies<>());
    layout.offsets.push_back(layout.bytes);
    layout.sizes.push_back(size);
    layout.bytes += rounded_up(size, kAlignment);
  }
  return layout;
}

RecordWidth width_of(int64_t record_bytes, int64_t block) {
  if (block > 0) {
    const int64_t whole = rounded_up(record_bytes, block);
    if (whole <= 2 * record_bytes) return {whole, true};
  }
  if (record_bytes == 0 || record_bytes > kPage) return {record_bytes, false};
  const int64_t shared = kPage / (kPage / record_bytes) / kAlignment * kAlignment;
  return {shared - record_bytes <= record_bytes / 8 ? shared : record_bytes, false};
}

}  // namespace ramet
