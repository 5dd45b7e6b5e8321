// The Python dictionary literal in a .npy header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ramet {

struct NpyDict {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } with its keys in any order and
// only white space after it. Any other text, also if Python would take it, is kCorrupt, with a
// message that begins with `location` and names the position.
[[nodiscard]] NpyDict parse_npy_dict(std::string_view text, const std::string& location);

}  // namespace ramet
