// Isa: which vector instructions the kernels use. Chosen once per process, at first use: the widest
// set that the processor has and that this build has code for (RAMET_VECTOR in CMake), or what the
// environment variable RAMET_ISA names (portable, avx2, avx512), so that every path can be tested
// and measured on one machine. Every kernel gives the same bits on every set.
// Failure: a name that is unknown, or a set that processor or build lacks, is kInvalidArgument.
#pragma once

namespace ramet {

// In ascending order: a processor that has one has those before it. kAvx2 stands for AVX2
// and F16C together, kAvx512 for the subsets F, BW, DQ and VL.
enum class Isa { kPortable, kAvx2, kAvx512 };

[[nodiscard]] Isa isa();
[[nodiscard]] const char* name(Isa isa);

}  // namespace ramet
