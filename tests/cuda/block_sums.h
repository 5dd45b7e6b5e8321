// A kernel of the tests' own: the sum of each block's values, by warp shuffles and a barrier.
#pragma once

#include <cstdint>
#include <vector>

// Sums of 256 values each; the number of values is a multiple of that.
std::vector<uint32_t> block_sums(const std::vector<uint32_t>& values);
