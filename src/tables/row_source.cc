#include "row_source.h"

#include <utility>

#include "cache/kept_rows.h"
#include "device/device_rows.h"
#include "device/staged_rows.h"
#include "disk/disk_rows.h"
#include "exchange/pulled_rows.h"
#include "host/host_rows.h"

namespace ramet {

std::shared_ptr<const RowSource> make_row_source(const Table& table,
                                                 const RowSourceOptions& options) {
  const int device = options.device;
  const Location location = options.placement.location;
  if (device != kHost && location != Location::kStaged)
    return std::make_shared<DeviceRows>(CudaTable(table, {.device = device,
                                                          .placement = location,
                                                          .cached = options.cached,
                                                          .progress = options.progress}),
                                        options.decode);
  RowForm form = table.form(options.decode);
  if (options.as_bfloat16) form.dtype = DType::kBFloat16;
  std::shared_ptr<const RowSource> source;
  if (options.reader != nullptr)
    source = std::make_shared<DiskRows>(table, std::move(form), options.reader);
  else
    source = std::make_shared<HostRows>(table, std::move(form));
  if (device != kHost) source = std::make_shared<StagedRows>(source);
  return source;
}

std::shared_ptr<const RowSource> make_pulled_source(
    const Table& rows, RowPlaces places, std::vector<bool> reached, int rank, bool decode) {
  return std::make_shared<PulledRows>(rows, std::move(places), std::move(reached), rank, decode);
}

std::shared_ptr<const RowSource> with_kept_rows(std::shared_ptr<const RowSource> source,
                                                int64_t num_rows,
                                                std::span<const int64_t> ids) {
  return std::make_shared<KeptRows>(std::move(source), num_rows, ids);
}

}  // namespace ramet
