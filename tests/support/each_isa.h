// The kernels of each instruction set that this machine can run.
#pragma once

#include <vector>

#include "kernels/cpu/isa_kernels.h"

namespace ramet {

template <typename T>
std::vector<T> of_each_isa(T IsaKernels::* member) {
  std::vector<T> all;
  for (const Isa set : kIsas) {
    if (set <= isa()) all.push_back(isa_kernels(set).*member);
  }
  return all;
}

}  // namespace ramet
