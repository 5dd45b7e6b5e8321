// Gathers by chunks of ids that are turned into rows of the table as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ramet/table.h"

namespace ramet {

// The rows of ids [begin, end) of a gather: the ids themselves, or what was written to `buffer`.
using RowsOfIds =
    std::function<const int64_t*(int64_t begin, int64_t end, std::vector<int64_t>& buffer)>;

// As Table::gather() and gather_float32() of `count` ids.
void gather_rows(
    const Table& table, int64_t count, const RowsOfIds& rows_of, void* out, int threads);
void gather_rows_float32(
    const Table& table, int64_t count, const RowsOfIds& rows_of, float* out, int threads);

}  // namespace ramet
