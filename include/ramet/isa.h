// Isa: the vector instructions that the kernels use. Chosen once per process, at first use: the
// widest set that both the processor and this build have (RAMET_VECTOR in CMake). The environment
// variable RAMET_ISA (portable; on x86-64 avx2, avx512; on aarch64 neon) overrides it, so that one
// machine can test and measure every path. Every kernel gives the same bits on every set. Failure:
// kInvalidArgument for an unknown name, and for a set that processor or build lacks.
#pragma once

namespace ramet {

// kAvx2 stands for AVX2 and F16C together, kAvx512 for the subsets F, BW, DQ and VL.
enum class Isa { kPortable, kNeon, kAvx2, kAvx512 };
// Those of this kind of processor, in ascending order: one with a set has the sets before it.
#ifdef __aarch64__
inline constexpr Isa kIsas[] = {Isa::kPortable, Isa::kNeon};
#else
inline constexpr Isa kIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512};
#endif

[[nodiscard]] Isa isa();
// Whether the processor multiplies matrices of bfloat16, by AVX512-BF16 or AMX. Other processors
// compute with float32 after all, or slowly. No kernel of ours needs it.
[[nodiscard]] bool multiplies_bfloat16();
[[nodiscard]] const char* name(Isa isa);

}  // namespace ramet
