#include "dependent_words.h"
#include "kernels/cpu/lanes_avx2.h"

DependentWords dependent_words_avx2() {
  return dependent_words<ramet::Avx2>;
}
