#include "ramet/isa.h"

#ifdef RAMET_AVX
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string>
#include <string_view>

#include "ramet/error.h"

namespace ramet {
namespace {

#ifdef RAMET_AVX
// __builtin_cpu_supports() of older compilers does not know "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa widest() {
#ifdef RAMET_NEON
  return Isa::kNeon;
#elif defined(RAMET_AVX)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !has_f16c()) return Isa::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
#else
  return Isa::kPortable;
#endif
}

Isa choose() {
  const char* asked = std::getenv("RAMET_ISA");
  if (asked == nullptr || *asked == '\0') return widest();
  std::string names;
  for (const Isa isa : kIsas) {
    names += concat(names.empty() ? "'" : ", '", name(isa), "'");
    if (std::string_view(asked) != name(isa)) continue;
    if (isa <= widest()) return isa;
    throw_invalid("RAMET_ISA is '", asked, "', but here there is code for ", name(widest()),
                  " at most");
  }
  throw_invalid("RAMET_ISA is '", asked, "', expected one of ", names);
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

bool multiplies_bfloat16() {
#ifdef RAMET_AVX
  constexpr unsigned kAvx512Bf16 = 1u << 5, kAmxBf16 = 1u << 22;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0;
  const bool has_avx = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
  return widest() == Isa::kAvx512 && (has_amx || has_avx);
#else
  return false;
#endif
}

const char* name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kNeon:
      return "neon";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace ramet
