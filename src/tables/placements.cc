// The list of locations: what each is called, what can be there, and what reads a table's rows
// there. A new one has a class of its own, a RowSource, and a line here.
#include <algorithm>
#include <iterator>
#include <utility>

#include "device/device_rows.h"
#include "device/staged_rows.h"
#include "disk/disk_rows.h"
#include "host/host_rows.h"
#include "ramet/error.h"
#include "row_source.h"

namespace ramet {
namespace {

using Source = std::shared_ptr<const RowSource>;

RowForm form_of(const Table& table, const RowSourceOptions& options) {
  RowForm form = table.form(options.decode);
  if (options.as_bfloat16) form.dtype = DType::kBFloat16;
  return form;
}

Source by_processors(const Table& table, const RowSourceOptions& options) {
  return std::make_shared<HostRows>(table, form_of(table, options));
}

Source from_files(const Table& table, const RowSourceOptions& options) {
  return std::make_shared<DiskRows>(table, form_of(table, options), options.reader);
}

Source by_device(const Table& table, const RowSourceOptions& options) {
  return std::make_shared<DeviceRows>(CudaTable(table, {.device = options.device,
                                                        .placement = options.placement,
                                                        .cached = options.cached,
                                                        .cached_rows = options.cached_rows,
                                                        .progress = options.progress}),
                                      form_of(table, options));
}

Source in_place(const Table& table, const RowSourceOptions& options) {
  return (options.device == kHost ? by_processors : by_device)(table, options);
}

Source staged(const Table& table, const RowSourceOptions& options) {
  return std::make_shared<StagedRows>(by_processors(table, options));
}

struct Entry {
  Location location;
  const char* name;
  LocationTraits traits;
  Source (*make)(const Table&, const RowSourceOptions&);
};

constexpr LocationTraits kWithDevice = kDeviceTables | kTopologies;
constexpr LocationTraits kOfLoaders = kHostTables | kWithDevice;

constexpr Entry kList[] = {
    {Location::kAuto, "auto", kOfLoaders, in_place},
    {Location::kDevice, "device", kWithDevice | kCudaTables, by_device},
    {Location::kDisk, "disk", kHostTables | kByRequests, from_files},
    {Location::kInPlace, "in_place", kOfLoaders | kCudaTables, in_place},
    {Location::kPinnedCopy, "pinned_copy", kCudaTables, by_device},
    {Location::kStaged, "staged", kWithDevice, staged},
};

const Entry& entry(Location location) {
  return *std::find_if(std::begin(kList), std::end(kList),
                       [=](const Entry& one) { return one.location == location; });
}

}  // namespace

const char* name(Location location) {
  return entry(location).name;
}

bool reads_ahead(Location location) {
  return (entry(location).traits & kByRequests) != 0;
}

std::vector<std::string> location_names(LocationTraits traits) {
  std::vector<std::string> names;
  for (const Entry& one : kList)
    if ((one.traits & traits) != 0) names.emplace_back(one.name);
  return names;
}

Location location_named(std::string_view wanted, LocationTraits traits, const std::string& what) {
  for (const Entry& one : kList)
    if (one.name == wanted && (one.traits & traits) != 0) return one.location;
  std::string names;
  for (const std::string& one : location_names(traits))
    names += (names.empty() ? "'" : ", '") + one + "'";
  throw_invalid(what, " is '", wanted, "', expected one of ", names);
}

std::shared_ptr<const RowSource> make_row_source(const Table& table,
                                                 const RowSourceOptions& options) {
  const LocationTraits traits = options.device == kHost ? kHostTables : kDeviceTables | kCudaTables;
  const Location location = options.placement;
  return entry(location_named(name(location), traits, "the placement of " + table.name()))
      .make(table, options);
}

}  // namespace ramet
