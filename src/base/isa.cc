#include "ramet/isa.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr Isa kAll[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512};

Isa widest() {
#ifdef RAMET_VECTOR  // there is code for more
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) return Isa::kPortable;
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
  for (const Isa isa : kAll) {
    if (std::string_view(asked) != name(isa)) continue;
    if (isa <= widest()) return isa;
    throw Error(ErrorCode::kInvalidArgument, "RAMET_ISA is '" + std::string(asked) +
                                                 "', but here there is code for " + name(widest()) +
                                                 " at most");
  }
  throw Error(ErrorCode::kInvalidArgument,
              "RAMET_ISA is '" + std::string(asked) + "', expected 'portable', 'avx2' or 'avx512'");
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

const char* name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace ramet
