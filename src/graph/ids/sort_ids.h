// Positions of ids in the order of the ids, which are distinct.
#pragma once

#include <cstdint>

#include "graph/ids/id_views.h"
#include "ramet/array.h"
#include "storage/growing_memory.h"

namespace ramet {

// Fills `memory` with the positions, as `wide` ? int64 : int32. Takes 16 bytes of it per id
// meanwhile.
template <typename Ids>
void sort_ids(const Ids& ids, bool wide, GrowingMemory& memory, int threads);

extern template void sort_ids(const IntegerIds&, bool, GrowingMemory&, int);
extern template void sort_ids(const TextIds&, bool, GrowingMemory&, int);

}  // namespace ramet
