// Processors for which no streaming gather is written.
#include "gather.h"

namespace ramet {

GatherRows streaming_gather() {
  return nullptr;
}

}  // namespace ramet
