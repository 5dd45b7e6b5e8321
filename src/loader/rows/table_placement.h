// Where processors read a table for a loader.
#pragma once

#include <memory>
#include <string>

#include "ramet/loader.h"
#include "ramet/row_reader.h"

namespace ramet {

struct TablePlacement {
  Location location = Location::kInPlace;  // or kDisk
  std::string why;
  std::shared_ptr<RowReader> reader = nullptr;  // of kDisk
};

// Decides where kAuto is wanted. With kDisk: opens a reader of the table's files, which measures
// the disk for some milliseconds. kInvalidArgument names a table for kDisk whose rows are no files,
// or are pulled; and as RowReader::open.
[[nodiscard]] TablePlacement placement_of(const Graph& graph,
                                          const TableRequest& request,
                                          Location wanted);

}  // namespace ramet
