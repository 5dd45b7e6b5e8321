#include "floyd.h"

#include "pick.h"

namespace ramet {

uint32_t floyd_portable(const DrawKeys& hop_keys,
                        int fanout,
                        const FloydRows& rows,
                        FloydPicks& picks) {
  Picker picker({fanout, false});
  int64_t picked[kFloydMaxFanout] = {};  // stays so in lanes without a row
  for (int r = 0; r < kFloydRows; ++r) {
    const auto node = static_cast<int64_t>(rows.node[r % 2][r / 2]);
    picker.pick(node_keys(hop_keys, node), rows.degree[r], picked);
    for (int t = 0; t < fanout; ++t)
      picks.of[t][r] = static_cast<uint32_t>(picked[t]);
  }
  return 0;
}

}  // namespace ramet
