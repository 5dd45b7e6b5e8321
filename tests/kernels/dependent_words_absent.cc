// Where the build has no vector code.
#include "dependent_words.h"

DependentWords dependent_words_avx2() {
  return nullptr;
}

DependentWords dependent_words_avx512() {
  return nullptr;
}
