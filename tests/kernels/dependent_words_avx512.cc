#include "dependent_words.h"
#include "kernels/cpu/lanes_avx512.h"

DependentWords dependent_words_avx512() {
  return dependent_words<ramet::Avx512>;
}
