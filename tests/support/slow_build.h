// Whether a sanitizer or an emulator makes everything ten times slower: sizes are smaller then.
#pragma once

namespace ramet::test {

#ifdef RAMET_SANITIZED
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif

}  // namespace ramet::test
