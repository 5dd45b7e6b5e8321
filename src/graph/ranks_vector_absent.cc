// Stands in where the build's processor has none of these instructions.
#include "ranks.h"

namespace ramet {

const RankKernels* ranks_avx2() {
  return nullptr;
}

}  // namespace ramet
