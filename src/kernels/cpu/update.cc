#include "update.h"

#include "update_lanes.h"

namespace ramet {

UpdateKernels update_portable() {
  return {update_row<One>, add_row<One>};
}

}  // namespace ramet
