// Rows of tables that lie on a device, for callers on the host: gathered to host memory, and
// written from there. What kernels do is complete when these return. Errors are those of tables on
// the host.
#pragma once

#include <span>

#include "ramet/ownership.h"
#include "ramet/row_list.h"
#include "ramet/table.h"
#include "tables/host/gather_rows.h"

namespace ramet {

// As gather_rows(), or with `decode` as gather_rows_float32(), of tables/host/gather_rows.h.
void gather_staged(
    const Table& table, int64_t count, const RowsOfIds& rows_of, void* out, bool decode);

// As set_rows() and sum_rows() of ramet/table_rows.h, which have checked what they take. Rows of
// lists may lie on the device, too.
void set_staged(const Array& table, std::span<const RowList> lists, NodeRange own, int threads);
void sum_staged(const Array& table, std::span<const RowList> lists, NodeRange own, int threads);

// Copies rows of the host to `to`, which lies on a device.
void copy_staged(const Array& to, const void* from);

}  // namespace ramet
