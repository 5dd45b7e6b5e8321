// Rows of given tables that lie on several machines: the ranks pull them from each other, table by
// table.
#pragma once

#include "loader_parts.h"
#include "ramet/cooperative_loader.h"

namespace ramet {

// Pulls the rows that `batch`, which is sampled, needs into batch->tables, and sends what other
// ranks ask for. nullptr: asks for nothing. Every rank calls it at the same place.
void pull_rows(const LoaderParts& parts, Batch* batch, const Exchange& exchange);

}  // namespace ramet
